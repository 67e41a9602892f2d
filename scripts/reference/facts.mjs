// Dtypes and errors of functions, found by calling them: the first call in a function's example is recorded
// and made again with its arrays in every dtype, and with arguments that do not fit. Graphs infer dtypes and
// shapes when they are built, so nothing is computed.

/** Records the first call of each function that is watched and builds a graph. */
export class Recorder {
  /** The example that runs now, and its first calls by name. */
  calls = new Map();
  #names = [];
  #depth = 0;

  /** `names`: of the function whose example runs next. */
  begin(names) {
    this.#names = names;
  }

  /** A function that behaves as another one and is recorded where it is the one whose example runs. */
  watched(name, call) {
    const recorder = this;
    const watching = function (...args) {
      const isFirst = recorder.#names.includes(name) && recorder.#depth === 0 && !recorder.calls.has(name);
      recorder.#depth++;
      try {
        const result = call.apply(this, args);
        // A call that runs is not made again: it would run twice.
        if (isFirst && typeof result?.then !== 'function')
          recorder.calls.set(name, { self: this, args, call });
        return result;
      } finally {
        recorder.#depth--;
      }
    };
    return watching;
  }
}

/** The arrays of a call: the receiver, arguments, and arrays in a list or in options. */
function mapArrays(value, isArray, change) {
  if (isArray(value)) return change(value);
  if (Array.isArray(value) && value.some((each) => isArray(each)))
    return value.map((each) => mapArrays(each, isArray, change));
  return value;
}

/** The shape of nested lists of numbers; `undefined` of anything else, and of lists of several lengths. */
function shapeOfLists(value) {
  if (typeof value === 'number') return [];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const [inner, ...others] = value.map(shapeOfLists);
  return inner !== undefined && others.every((other) => other?.join() === inner.join())
    ? [value.length, ...inner]
    : undefined;
}

const isNumbers = (value) => Array.isArray(value) && shapeOfLists(value) !== undefined;

/** The dtypes of a result: of an array, or of each of several. */
function dtypesOf(result, Lazy) {
  if (result instanceof Lazy) return result.dtype;
  if (result === null || typeof result !== 'object' || typeof result.then === 'function') return undefined;
  const inner = Object.values(result).map((each) => dtypesOf(each, Lazy));
  return inner.length > 0 && inner.length < 6 && inner.every((each) => each !== undefined)
    ? inner.join(', ')
    : undefined;
}

const sizesOf = ({ shape }) => `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`;

/** The shapes of a result: of an array, or of each of several. */
function shapesOf(result, Lazy) {
  if (result instanceof Lazy) return sizesOf(result);
  if (result === null || typeof result !== 'object' || result instanceof Error) return undefined;
  const inner = Object.values(result).map((each) => shapesOf(each, Lazy));
  const isWhole = inner.length > 0 && inner.length < 6 && inner.every((each) => each !== undefined);
  return isWhole ? inner.join(', ') : undefined;
}

/**
 * `{ dtypes, errors, shapes }` of a recorded call. `takesArrays`: whether a function's first argument is an
 * array, or several;
 * `takesLists`: whether lists of numbers among the arguments of a method are arrays.
 */
export function factsOf({ self, args, call }, { weft, takesArrays, takesLists }) {
  const { DTYPES, Lazy, lazy, zeros, full } = weft;
  const isArray = (value) => value instanceof Lazy;
  const isMethod = isArray(self);
  const isOfNumbers = (k) => (isMethod ? takesLists : takesArrays && k === 0);
  const given = args.map((value, k) => (isOfNumbers(k) && isNumbers(value) ? lazy(value) : value));
  const first = isMethod
    ? self
    : given.flatMap((value) => (Array.isArray(value) ? value : [value])).find(isArray);
  if (first === undefined) return { dtypes: undefined, errors: [] };
  const made = (change, changeArgument = (value) => value) =>
    call.apply(
      isMethod ? change(self) : self,
      given.map((value, k) => changeArgument(mapArrays(value, isArray, change), k)),
    );

  const errors = new Map();
  const caught = (make) => {
    try {
      return make();
    } catch (error) {
      const name = error?.constructor?.name ?? 'Error';
      if (/Error$/.test(name) && name !== 'InternalError' && name !== 'TypeError') {
        const key = `${name} ${String(error.message).split(' ').slice(0, 4).join(' ')}`;
        if (!errors.has(key)) errors.set(key, String(error).split('\n')[0]);
      }
      return error;
    }
  };
  const all = [...(isMethod ? [self] : []), ...given.flat().filter(isArray)];
  const dtypesBy = (pivot) =>
    new Map(
      DTYPES.map((dtype) => {
        const result = caught(() => made((x) => (x.dtype === pivot.dtype ? x.astype(dtype) : x)));
        return [dtype, result instanceof Error ? null : dtypesOf(result, Lazy)];
      }),
    );
  // A condition, whose dtype says nothing of the result's, stands before the values.
  const varies = (map) => new Set(map.values()).size > 2;
  const other = all.find((x) => x.dtype !== first.dtype);
  let dtypes = dtypesBy(first);
  const isSecond = first.dtype === 'bool' && other !== undefined && !varies(dtypes);
  if (isSecond) dtypes = dtypesBy(other);
  const odd = (x) => (x === first ? x : zeros([7, 5, 3], x.dtype));
  if (!isMethod || given.some(isArray)) caught(() => made(odd));
  given.forEach((value, k) => {
    if (Number.isInteger(value))
      caught(() =>
        made(
          (x) => x,
          (other, at) => (at === k ? 9 : other),
        ),
      );
    if (isMethod && isNumbers(value))
      caught(() =>
        made(
          (x) => x,
          (other, at) => (at === k ? [9, 8, 7, 6] : other),
        ),
      );
  });
  caught(() => made((x) => (x === first ? full([], 1, first.dtype) : x)));
  caught(() => made((x) => (x === first ? zeros([0], first.dtype) : x)));
  const before = all.map((x) => sizesOf(x));
  const after = shapesOf(
    caught(() => made((x) => x)),
    Lazy,
  );
  const known = [...dtypes.values()].some((each) => typeof each === 'string');
  const shapes = after === undefined ? undefined : `${before.join(', ')} → ${after}`;
  return { dtypes: known ? dtypes : undefined, isSecond, errors: [...errors.values()].slice(0, 3), shapes };
}

// ---------------------------------------------------------------- in words

const FAMILIES = [
  ['signed integers', ['int8', 'int16', 'int32', 'int64']],
  ['unsigned integers', ['uint8', 'uint16', 'uint32', 'uint64']],
  ['floats', ['float16', 'bfloat16', 'float32', 'float64']],
  ['complex', ['complex64', 'complex128']],
];

/** A set of dtypes in words: families whole, else names. */
function inWords(dtypes, count) {
  if (dtypes.length === count) return 'every dtype';
  const families = FAMILIES.filter(([, members]) => members.every((each) => dtypes.includes(each)));
  const covered = families.flatMap(([, members]) => members);
  let names = families.map(([name]) => name);
  if (names.includes('signed integers') && names.includes('unsigned integers'))
    names = ['integers', ...names.filter((name) => !name.endsWith('integers'))];
  return [...dtypes.filter((each) => !covered.includes(each)).map((each) => `\`${each}\``), ...names].join(
    ', ',
  );
}

/** The dtype of a result, or those of several, beside that of the argument. */
function resultInWords(dtype, result) {
  if (result === null) return 'not taken';
  if (result === undefined) return '';
  return result
    .split(', ')
    .map((each, k) => (each === dtype && k === 0 ? 'the same' : `\`${each}\``))
    .join(', ');
}

/** Lines such as "integers, bool → `float64`". */
export function dtypesInWords(dtypes) {
  const groups = new Map();
  for (const [dtype, result] of dtypes) {
    const key = resultInWords(dtype, result);
    groups.set(key, [...(groups.get(key) ?? []), dtype]);
  }
  groups.delete('');
  const place = (result) => ['the same', 'not taken'].indexOf(result);
  const order = (result) => (place(result) < 0 ? 1 : 2 * place(result));
  return [...groups]
    .sort(([a], [b]) => order(a) - order(b))
    .map(([result, members]) =>
      result === 'not taken'
        ? `not taken: ${inWords(members, dtypes.size)}`
        : `${inWords(members, dtypes.size)} → ${result}`,
    );
}
