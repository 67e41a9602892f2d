/**
 * Contractions whose labels stand in no order for a matrix product, as a user writes them: for the simulator
 * (`test/sim/cutensor.test.ts`) and for GPUs (`test/devices/contractions.ts`).
 */
export interface TensorForm {
  readonly subscripts: string;
  readonly left: readonly number[];
  readonly right: readonly number[];
}

/** Every one of them would have copies made for cuBLAS. */
export const TENSOR_FORMS: readonly TensorForm[] = [
  { subscripts: 'abc,cbd->ad', left: [9, 4, 6], right: [6, 4, 10] },
  { subscripts: 'abcd,dbea->ce', left: [5, 3, 12, 4], right: [4, 3, 11, 5] },
  { subscripts: 'iajb,kbl->jaikl', left: [5, 4, 3, 6], right: [7, 6, 2] },
  { subscripts: 'bijx,xkbj->ikb', left: [3, 9, 4, 5], right: [5, 8, 3, 4] },
  { subscripts: 'ijb,kbj->bki', left: [16, 5, 4], right: [9, 4, 5] },
];
