/** Powers of two around a number; 1 for what is below. */
export const powerOfTwoFrom = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, n)));
export const powerOfTwoTo = (n: number): number => 2 ** Math.floor(Math.log2(Math.max(1, n)));
