/** Modes of convolutions, direct ones and those by transforms. */

/**
 * Which places of a convolution are given: all where the lines meet (`'full'`), as many as the longer line has, in
 * the middle of those (`'same'`), or those where the shorter line lies within the longer one (`'valid'`).
 */
export type ConvolveMode = 'full' | 'same' | 'valid';
export const CONVOLVE_MODES: readonly ConvolveMode[] = ['full', 'same', 'valid'];
