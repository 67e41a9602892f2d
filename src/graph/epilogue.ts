/**
 * Epilogue: elementwise work that a library does on a matrix product before it stores it. It stands in a
 * contraction's node, whose further inputs it reads: the addend, then the bias.
 */

export interface Epilogue {
  /** result = activation(alpha · product + beta · addend + bias), in the precision of the sums, rounded once. */
  readonly alpha: number;
  /** 0: there is no addend. The addend has the result's shape and dtype. */
  readonly beta: number;
  /** A row of the result's dtype, (1, 1, n), which broadcasts. */
  readonly hasBias: boolean;
  readonly activation: Activation | undefined;
}

/** `relu`: max(x, 0). `gelu`: its form with tanh. */
export type Activation = 'relu' | 'gelu';

/** The epilogue of a product that is stored as it is. */
export const PLAIN: Epilogue = { alpha: 1, beta: 0, hasBias: false, activation: undefined };

/** How many inputs it reads besides the factors. */
export const epilogueInputs = ({ beta, hasBias }: Epilogue): number =>
  (beta === 0 ? 0 : 1) + (hasBias ? 1 : 0);

/** `alpha 2, + 0.5 addend, + bias, relu`; empty where there is nothing of that. */
export function formatEpilogue({ alpha, beta, hasBias, activation }: Epilogue): string {
  const parts = [
    ...(alpha === 1 ? [] : [`alpha ${alpha}`]),
    ...(beta === 0 ? [] : [`+ ${beta === 1 ? '' : `${beta} `}addend`]),
    ...(hasBias ? ['+ bias'] : []),
    ...(activation === undefined ? [] : [activation]),
  ];
  return parts.join(', ');
}
