/** Dtypes of rates of calls, on the CPU and on a GPU: one without rates has those of another. */
import { byteLengthOf, type DType } from '../../graph/dtype.js';

/** The same, else one as wide, else any. */
export const nearestDType = (known: readonly DType[], dtype: DType): DType | undefined =>
  known.find((each) => each === dtype) ??
  known.find((each) => byteLengthOf(each) === byteLengthOf(dtype)) ??
  known[0];
