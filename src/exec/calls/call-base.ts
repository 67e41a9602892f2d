/** The fields that calls of all rows have as steps of a plan. */
export interface CallBase {
  readonly kind: 'call';
  /** Its row in `table.ts`. */
  readonly call: string;
  /** The temporary that it may use besides: calls that run one after the other share one. */
  readonly workspace?: number | undefined;
  readonly nodes: readonly number[];
}
