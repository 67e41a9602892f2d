/**
 * The reference's results for tests that are repeated for each backend, in a block named `… on %s …`: computed for the first
 * of them, and the same for those that follow. Outputs that depend on the backend would be compared with wrong ones.
 */
import { expect } from 'vitest';
import type { Lazy } from '../../src/index.js';
import { referenceOf } from './api.js';
import type { HostArray } from './host.js';

let file: string | undefined;
let test: string | undefined;
/** How many were asked for in the test. */
let count = 0;
/** Those of the file, by the test's name without its backend. */
const references = new Map<string, HostArray[]>();

/**
 * For the backend `reference` they are its results: it holds that shapes and dtypes are those that were inferred. `key` tells
 * those of a test apart; without it, they are asked for in the same order for each backend.
 */
export function sharedReferenceOf(device: string, outputs: readonly Lazy[], key?: string): HostArray[] {
  const { currentTestName, testPath } = expect.getState();
  if (testPath !== file) references.clear();
  if (testPath !== file || currentTestName !== test) count = 0;
  [file, test] = [testPath, currentTestName];
  const name = `${currentTestName!.replace(`on ${device}`, '')}, ${key ?? count++}`;
  const known = references.get(name);
  if (known !== undefined) return known;
  const found = referenceOf(outputs);
  references.set(name, found);
  return found;
}
