/**
 * Programs of `dist/test` and `dist/examples` that tests start: beside what is bundled, where the tests are
 * (`scripts/bundle-tested.mjs`).
 */
import { resolve } from 'node:path';

const isBuilt = process.env.WEFT_TEST_BUILT === '1';
const inFolder = (folder: string, name: string): string =>
  resolve(import.meta.dirname, '../../dist', folder, name);

/** The path of a program, by that in `test`. */
export const testedProgram = (name: string): string => inFolder(isBuilt ? 'tested-programs' : 'test', name);

/** The path of an example, by that in `examples`. */
export const testedExample = (name: string): string =>
  inFolder(isBuilt ? 'tested-examples' : 'examples', name);
