/**
 * The structure of the sources: what differs between kinds of devices is said in one place, and instructions
 * of kernels are looked into by the kernel algebra alone.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

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

it('nobody outside the targets asks which kind a device is, or reads its name', () => {
  const lines = sources
    .filter((path) => !path.startsWith(join('exec', 'targets') + sep))
    .flatMap((path) => linesThatAsk(join(source, path)));
  // A topic of debugging, not a device.
  expect(lines.filter((line) => !line.includes("topic === 'cuda'"))).toEqual([]);
});

/**
 * The kernel algebra, and where instructions are printed and encoded. TypeScript keeps `kind` of an
 * `Instruction` from everybody who does not ask for its form.
 */
const READS_INSTRUCTIONS = [
  'codegen/cpu/tape.ts',
  'codegen/cuda/body.ts',
  'fusion/kernel/algebra.ts',
  'fusion/kernel/arithmetic.ts',
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
