// The counterparts of functions in NumPy, SciPy and CuPy: by the row's `numpy`, by the name that the documentation
// gives ("as NumPy's `interp`"), or by our name in snake case; each is held against the packages' own lists
// (`python-names.json`, written by scripts/make-python-names.py), so that no name is shown that is not there.
import { readFileSync } from 'node:fs';

const NAMES = JSON.parse(readFileSync(new URL('./python-names.json', import.meta.url), 'utf8'));
const SETS = new Map(
  Object.entries(NAMES)
    .filter(([module]) => module !== 'versions')
    .map(([module, names]) => [module, new Set(names.split(' '))]),
);
export const VERSIONS = NAMES.versions;

/** Names that follow from neither. `null`: none, although a function of that name exists. */
const OTHERS = {
  argpartition: 'numpy.argpartition',
  bitwiseInvert: 'numpy.bitwise_invert',
  chunked: 'numpy.concatenate',
  clip: 'numpy.clip',
  compile: null,
  cov: 'numpy.cov',
  einsumPath: 'numpy.einsum_path',
  fromFile: 'numpy.fromfile',
  fullLike: 'numpy.full_like',
  lazy: 'numpy.asarray',
  lgamma: 'scipy.special.gammaln',
  loadNpy: 'numpy.load',
  loadNpz: 'numpy.load',
  ndtri: 'scipy.special.ndtri',
  saveNpy: 'numpy.save',
  saveNpz: 'numpy.savez',
  variance: 'numpy.var',
  'fft.fftConvolve': 'scipy.signal.fftconvolve',
  'random.bernoulli': null,
  'random.key': 'numpy.random.default_rng',
  'random.split': null,
  'random.bits': null,
  'random.integers': 'numpy.random.randint',
  'random.uniform': 'numpy.random.uniform',
};

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Modules in which the counterpart of an entry may be. */
function modulesFor({ name, path }) {
  const [owner] = name.split('.');
  if (owner === 'fft') return ['numpy.fft', 'scipy.fft', 'scipy.signal'];
  if (owner === 'random') return ['numpy.random'];
  if (owner === 'stats') return ['scipy.stats'];
  if (owner === 'ndimage') return ['scipy.ndimage'];
  if (owner === 'sparse') return ['scipy.sparse', 'scipy.sparse.linalg'];
  if (owner === 'linalg') return ['numpy.linalg', 'scipy.linalg'];
  if (/moments/.test(path)) return ['scipy.stats'];
  return ['numpy', 'numpy.linalg', 'scipy.special', 'scipy.signal', 'scipy.stats', 'scipy.ndimage'];
}

const found = (modules, names) => {
  for (const name of names)
    for (const module of modules) if (SETS.get(module)?.has(name)) return `${module}.${name}`;
  return undefined;
};

/** CuPy's module of the functions of one of NumPy or SciPy. */
const twinOf = (module) => module.replace(/^numpy/, 'cupy').replace(/^scipy/, 'cupyx.scipy');

/** `{ python, cupy }`: dotted names, undefined where there is none. */
export function peersOf(entry, row) {
  const { name, kind, owner } = entry;
  if (kind === 'class' || kind === 'type' || kind === 'constant') return {};
  if (kind === 'member' && /^[A-Z]/.test(owner)) return {};
  const bare = name.split('.').at(-1);
  const prose = entry.comments.map(({ prose: text }) => text.replace(/\s+/g, ' ')).join(' ');
  const said = [...prose.matchAll(/[Aa]s (?:NumPy|SciPy)(?:'s)?(?: and SciPy's)? `?([a-z][\w.]*)`?/g)].map(
    ([, each]) => each,
  );
  const names = [row?.numpy, snake(bare), bare.toLowerCase(), ...said].filter(
    (each) => typeof each === 'string',
  );
  const own = OTHERS[name];
  const python = own === null ? undefined : (own ?? found(modulesFor(entry), names));
  if (python === undefined) return {};
  const at = python.lastIndexOf('.');
  const twin = twinOf(python.slice(0, at));
  return {
    python,
    cupy: SETS.get(twin)?.has(python.slice(at + 1)) ? `${twin}.${python.slice(at + 1)}` : undefined,
  };
}

/** Counterparts named by hand that the packages do not have; a test wants none. */
export const unknownPeers = () =>
  Object.values(OTHERS).filter((name) => {
    if (name === null) return false;
    const at = name.lastIndexOf('.');
    return !SETS.get(name.slice(0, at))?.has(name.slice(at + 1));
  });
