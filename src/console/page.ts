export const page = "";
