/** The structure of the sources: what differs between kinds of devices is said in one place. */
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

it('nobody outside the targets asks which kind a device is, or reads its name', () => {
  const paths = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith(join('exec', 'targets') + sep))
    .map((path) => join(source, path));
  expect(paths.length).toBeGreaterThan(200);
  const lines = paths.flatMap(linesThatAsk);
  // A topic of debugging, not a device.
  expect(lines.filter((line) => !line.includes("topic === 'cuda'"))).toEqual([]);
});
