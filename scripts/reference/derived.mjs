// Examples of rows of the tables of ops and reductions, made of the row: arguments lie in the interval that its sample
// names and have a dtype that its rule takes. A row whose own comment has an `@example` is shown by that.

/** Arguments by preference: few digits, both signs. */
const FIRST = [2, -1, 0.5, 3, 1.5, 4, 0.25, 0.75, 10, 0];
const SECOND = [1, 2, 0.25, -2, 3, 0.5, 8];
const THIRD = [0.5, 0.25, 1, 0];

const inside = ({ domain: [lo, hi] }, values, isWhole) => {
  const fit = values.filter((value) => value >= lo && value <= hi && (!isWhole || Number.isInteger(value)));
  return (fit.length >= 3 ? fit : [...fit, hi, lo]).slice(0, 3);
};

const DTYPES = ['float64', 'bool', 'int32', 'uint64'];

/** How an argument is written: a list is float64. */
function written(values, dtype) {
  if (dtype === 'bool') return `lazy([${values.map((value) => value > 0).join(', ')}])`;
  const list = `[${values.join(', ')}]`;
  return dtype === 'float64' ? `lazy(${list})` : `lazy(${list}, { dtype: '${dtype}' })`;
}

/** The example of an op: its method on arrays of three elements. */
export function exampleOfOp(name, row) {
  const takesBooleans = /^logical/.test(name);
  const dtype = takesBooleans
    ? 'bool'
    : DTYPES.find((each) => row.dtype(Array(row.arity).fill(each)) !== undefined);
  const isWhole = dtype !== 'float64';
  const arguments_ = [FIRST, SECOND, THIRD]
    .slice(0, row.arity)
    .map((values) =>
      inside(row.sample, takesBooleans ? [1, 0, 1, 0, 0].slice(values === SECOND ? 1 : 0) : values, isWhole),
    );
  const [x, ...rest] = arguments_.map((values) => written(values, dtype));
  return `await ${x}.${name}(${rest.join(', ')}).compute()`;
}

/** The example of a reduction: of all elements, and along an axis. */
export function exampleOfReduction(name) {
  const x = ['any', 'all'].includes(name)
    ? 'lazy([[true, false], [true, true]])'
    : 'lazy([[1, 5, 3], [4, 2, 6]])';
  return `const x = ${x}\nawait x.${name}().compute()\n//=> \nawait x.${name}(0).compute()`;
}
