/**
 * The structure of the sources: differences between kinds of devices are said in one place, and instructions
 * of kernels are looked into by the kernel algebra alone.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');

/** The text of a source without comments, and without strings in double quotes: those are sentences. */
const codeOf = (path: string): string =>
  readFileSync(path, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""');

/** Lines that compare with the name of a device, look for it, or take one to pieces. */
const ASKS = [
  /[=!]== ?['"`](cpu|cuda)\b/,
  /['"`](cpu|cuda)(:\d+)?['"`] ?[=!]==/,
  /\b(includes|indexOf|startsWith|has)\(['"`](cpu|cuda)\b/,
  /case ['"`](cpu|cuda)\b/,
  /['"`]cuda:/,
  /\/[^/\n]*cuda:[^/\n]*\//,
];

function linesThatAsk(path: string): string[] {
  const lines = codeOf(path).split('\n');
  return lines.flatMap((line, k) =>
    ASKS.some((pattern) => pattern.test(line)) ? [`${relative(source, path)}:${k + 1}: ${line.trim()}`] : [],
  );
}

const sources = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();

it('finds the sources', () => expect(sources.length).toBeGreaterThan(200));

/** Where devices are made of their names. */
const MAKES_DEVICES = join('exec', 'targets', 'device.ts');

it('nobody asks which kind a device is, or reads its name', () => {
  const others = sources.filter((path) => path !== MAKES_DEVICES);
  expect(others.flatMap((path) => linesThatAsk(join(source, path)))).toEqual([]);
  expect(linesThatAsk(join(source, MAKES_DEVICES))).toHaveLength(1);
});

/**
 * The kernel algebra, and where instructions are printed and encoded. TypeScript keeps `kind` of an
 * `Instruction` from everybody who does not ask for its form.
 */
const READS_INSTRUCTIONS = [
  'codegen/cpu/tape-encoder.ts',
  'codegen/cuda/body.ts',
  'fusion/kernel/algebra.ts',
  'fusion/kernel/arithmetic.ts',
  'fusion/kernel/fingerprint.ts',
  'fusion/kernel/instruction.ts',
  'fusion/kernel/kernel.ts',
  'fusion/kernel/print.ts',
  'fusion/kernel/tape-builder.ts',
];

it('nobody outside the kernel algebra, printers and encoders looks into an instruction', () => {
  const paths = sources.map((path) => path.replaceAll(sep, '/'));
  const readers = paths.filter((path) => /\b(formOf|InstructionForm)\b/.test(codeOf(join(source, path))));
  expect(readers).toEqual(READS_INSTRUCTIONS);
  // Kinds that neither nodes nor schedules have, and casts around the algebra.
  const asks = /\b(kind:|[=!]==|case) '(load|inside)'|\bas Instruction\b/;
  const askers = paths.filter((path) => asks.test(codeOf(join(source, path))));
  expect(askers.filter((path) => !READS_INSTRUCTIONS.includes(path))).toEqual([]);
});

/** The room of the matrix product's row, and the table that has it; the product of sparse matrices is another row. */
const NAMES_PRODUCTS = /^exec\/calls\/(products\/|table\.ts$)|\/sparse-matmul\.ts$/;

it('nobody outside its row names the matrix product', () => {
  // The call `.matmul(` is the user's API.
  const names = /(?<!sparse[-_]?)matmul(?!\()/i;
  const rooms = /^(codegen|exec|fusion|inspect|io|language)\//;
  const paths = sources.map((path) => path.replaceAll(sep, '/')).filter((path) => rooms.test(path));
  const namers = paths.filter((path) => names.test(codeOf(join(source, path))));
  expect(namers).toContain('exec/calls/products/matmul.ts');
  expect(namers.filter((path) => !NAMES_PRODUCTS.test(path))).toEqual([]);
});

it('finds lifetimes, places buffers and starts runs at one place each', () => {
  const paths = sources.map((path) => path.replaceAll(sep, '/'));
  const having = (pattern: RegExp): string[] =>
    paths.filter((path) => path.startsWith('exec/') && pattern.test(codeOf(join(source, path))));
  expect(having(/function\*? lifetimesOf\b/)).toEqual(['exec/plan/stages.ts']);
  expect(having(/yield\* placeInArenaInSlices\(/)).toEqual(['exec/plan/place.ts']);
  expect(having(/addon\(\)\.run\(/)).toEqual(['exec/native/native-run.ts']);
  expect(having(/function runProgram\(/)).toEqual(['exec/run/run-program.ts']);
});

it('has one concept a file: none of more than 500 lines', () => {
  const long = sources.filter((path) => {
    const text = readFileSync(join(source, path), 'utf8');
    return text.split('\n').length > 500 && !/^ ?[/*].*do not edit/im.test(text);
  });
  expect(long).toEqual([]);
});

/** The code of the engine in both languages, with its comments. */
const everywhere = ['src', 'native', 'docs/design'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|js|cpp|h|inc|md)$/.test(path))
    .map((path) => join(folder, path)),
);

/** Words that were ours alone, each with the field's word for the thing. */
const PRIVATE: readonly (readonly [RegExp, string])[] = [
  [/^\s*(\/?\*|\/\/).*\btold\b/i, 'reported, known, given'],
  [/feedback/i, 'carried buffers'],
  [/replay/i, 'graph exec, launch'],
  [/\b(homeOf|homes_?|SweepHome)\b/, 'backing store, location'],
  [/\bdeal(t|ing|er)?\b/i, 'shard, share'],
  [/\b(PairSchedule|choosePairs)\b/, 'outer product'],
  [/\bonDeepGraph\(fold\b/, 'segment'],
  [/^\s*(\/\*\*|\*|\/\/) (What|Who|Whose) /, 'the noun of the thing, as the subject of a comment'],
];

it('has the words of the field', () => {
  const found = everywhere.flatMap((path) => {
    const lines = readFileSync(join(root, path), 'utf8').split('\n');
    return PRIVATE.flatMap(([word, better]) =>
      lines.flatMap((line, k) => (word.test(line) ? [`${path}:${k + 1}: ${better}: ${line.trim()}`] : [])),
    );
  });
  expect(found).toEqual([]);
});

/** Words that name one concept each, as ARCHITECTURE's glossary says; which file declares a type of that name. */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  Place: [],
  Part: ['codegen/cuts/work.ts'],
  Group: [],
  Groups: ['api/groups.ts'],
  Layout: [],
  Order: ['io/layout.ts'],
  Trace: [],
};

it('names one concept by each of the words place, part, group, layout, order and trace', () => {
  for (const [word, where] of Object.entries(DECLARED)) {
    const declares = new RegExp(`^\\s*(export )?(abstract )?(interface|type|class) ${word}\\b(?!,)`, 'm');
    const files = sources.filter((path) => declares.test(codeOf(join(source, path))));
    expect(files.map((path) => path.replaceAll(sep, '/'))).toEqual(where);
  }
});
