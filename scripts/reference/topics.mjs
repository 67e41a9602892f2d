// Pages of the reference: which entries stand together, under which title. An entry of a file that no page names gets
// a page by the file's name, so that a new module needs no line here.

/** Sections of the table of ops are pages by themselves, or with others. */
const SECTIONS = {
  arithmetic: 'Arithmetic',
  'powers, exponentials, logarithms': 'Exponentials and logarithms',
  trigonometry: 'Trigonometry',
  'special functions': 'Special functions',
  'random words': 'Random numbers',
  rounding: 'Rounding',
  'complex numbers': 'Complex numbers',
  comparison: 'Comparison',
  'logic and bits': 'Logic and bits',
  choice: 'Choosing and masks',
};

/** Titles in the order of the sidebar, each with the files whose entries are there. */
const PAGES = [
  [
    'Arrays',
    ['api/creation', 'api/ranges', 'api/chunked', 'api/index-arrays', 'api/placeholder', 'api/pinned'],
  ],
  ['Lazy', ['api/lazy:Lazy']],
  ['NDArray', ['api/ndarray']],
  [
    'Computing',
    [
      'api/compute',
      'api/computing',
      'api/compile',
      'api/memory',
      'api/devices',
      'exec/run/synchronize',
      'api/precompile',
      'api/device-pointers',
    ],
  ],
  ['Loops', ['api/loops']],
  ['Functions of elements', ['api/element-functions', 'api/cuda-functions']],
  ['Reductions of your own', ['api/user-reductions', 'api/cuda-reductions']],
  ['Kernels', ['api/kernels', 'api/kernel-types']],
  ['Batches', ['api/batch']],
  ['Explaining and profiling', ['api/profile', 'api/progress-line', 'inspect/timeline', 'inspect/explain']],
  ['Dashboard', ['api/dashboard']],
  ['Files', ['io/load', 'io/save', 'io/sinks', 'io/reader', 'io/parquet', 'io/zarr']],
  [
    'Other libraries',
    ['exchange/dlpack', 'exchange/arrow', 'exchange/tensors', 'exchange/images', 'exchange/duckdb'],
  ],
  ['Arithmetic', []],
  ['Exponentials and logarithms', []],
  ['Trigonometry', []],
  ['Rounding', []],
  ['Complex numbers', []],
  ['Comparison', []],
  ['Logic and bits', []],
  ['Elementwise composites', ['graph/elementwise', 'graph/composites']],
  ['Special functions', ['graph/special']],
  ['Distributions', ['api/stats']],
  [
    'Reductions',
    ['graph/reductions', 'graph/statistics', 'graph/nan-reductions', 'graph/moments', 'graph/correlations'],
  ],
  ['Quantiles', ['graph/order-statistics', 'graph/nan-quantiles']],
  ['Scans and differences', ['graph/scans', 'graph/differences']],
  ['Shapes', ['graph/views', 'graph/rearranging', 'graph/diagonals', 'graph/masks', 'api/joining']],
  ['Indexing', ['graph/slicing', 'graph/indexing', 'graph/updates', 'api/updates']],
  ['Choosing and masks', ['graph/choosing']],
  ['Sorting and searching', ['graph/sorting', 'graph/partitions', 'graph/searching', 'api/ordering']],
  ['Sets', ['graph/sets', 'api/sets']],
  [
    'Groups, bins and segments',
    ['graph/segment-reductions', 'graph/counting', 'api/groups', 'api/histograms'],
  ],
  ['Products', ['graph/products', 'api/einsum']],
  ['Linear algebra', ['api/linalg']],
  [
    'Sparse matrices',
    [
      'api/sparse',
      'api/sparse-construction',
      'api/sparse-random',
      'api/sparse-files',
      'api/sparse-matrix',
      'api/sparse-lines',
      'api/sparse-elementwise',
      'api/sparse-comparisons',
      'api/sparse-reductions',
      'api/sparse-selections',
      'api/sparse-operators',
      'api/sparse-systems',
      'api/sparse-solvers',
      'api/sparse-minres',
      'api/sparse-gmres',
      'api/sparse-least-squares',
      'api/sparse-lsmr',
      'api/sparse-lsqr',
      'api/sparse-triangular',
      'api/sparse-direct',
      'api/sparse-cholesky',
      'api/sparse-eigen',
    ],
  ],
  ['Convolution and correlation', ['graph/signals']],
  ['Filters of images', ['api/ndimage']],
  ['Fourier transforms', ['api/fft']],
  ['Random numbers', ['api/random']],
  ['Dtypes', ['api/dtype-info', 'shared/layout']],
  ['Errors', ['host/errors']],
];

const titleOfFile = (path) => {
  const words = path.split('/').at(-1).replaceAll('-', ' ');
  return words[0].toUpperCase() + words.slice(1);
};

export function topicOf({ path, section, owner, name, kind }) {
  if (kind === 'type') return 'Types';
  if (section !== undefined) return SECTIONS[section] ?? section[0].toUpperCase() + section.slice(1);
  // Members of an object such as `random` stand together, whichever files declare them.
  const object = kind === 'constant' ? name : owner;
  const ofObject = PAGES.find(([, files]) => files.includes(`api/${object}`));
  if (ofObject !== undefined) return ofObject[0];
  const isOf = (file) => file === `${path}:${owner ?? name}`;
  return (
    PAGES.find(([, files]) => files.some(isOf))?.[0] ??
    PAGES.find(([, files]) => files.includes(path))?.[0] ??
    titleOfFile(path)
  );
}

export const slugOf = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, '-');

/** Functions before the classes that they make and the members of those. */
function functionsFirst(entries) {
  const isOfClass = ({ kind, owner }) => kind === 'class' || (owner !== undefined && /^[A-Z]/.test(owner));
  return [...entries.filter((entry) => !isOfClass(entry)), ...entries.filter(isOfClass)];
}

/** Pages with their entries, in the order of the sidebar; those without a line of their own before the types. */
export function pagesOf(all) {
  const byTitle = new Map(PAGES.map(([title]) => [title, []]));
  for (const entry of all) {
    const title = topicOf(entry);
    if (!byTitle.has(title)) byTitle.set(title, []);
    byTitle.get(title).push(entry);
  }
  const last = ['Errors', 'Types'];
  const titles = [...byTitle.keys()].filter(
    (title) => !last.includes(title) && byTitle.get(title).length > 0,
  );
  return [...titles, ...last].map((title) => ({
    title,
    slug: slugOf(title),
    entries: functionsFirst(byTitle.get(title) ?? []),
  }));
}
