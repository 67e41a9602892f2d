/** Simulated libraries that lack an entry point. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'weft-missing-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * A copy of a simulated library in which a symbol has another name. What it needs beside it has to be loaded
 * before.
 */
export function without(library: string, symbol: string): string {
  const bytes = readFileSync(library);
  const name = Buffer.from(`\0${symbol}\0`);
  const at = bytes.indexOf(name);
  if (at < 0) throw new Error(`${library} has no ${symbol}`);
  bytes.write('XX', at + name.length - 3);
  const copy = join(folder, basename(library));
  writeFileSync(copy, bytes);
  return copy;
}
