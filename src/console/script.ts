export const script = "";
