/** Programs of `dist/test` that tests start: beside what is bundled, where the tests are (`scripts/bundle-tested.mjs`). */
import { resolve } from 'node:path';

const FOLDER = process.env.WEFT_TEST_BUILT === '1' ? 'dist/tested-programs' : 'dist/test';

/** The path of a program, by that in `test`. */
export const testedProgram = (name: string): string => resolve(import.meta.dirname, '../..', FOLDER, name);
