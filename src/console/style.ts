export const style = "";
