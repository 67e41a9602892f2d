/**
 * Required by every process of `npm run test:sanitize`: loads the addon that is built for a sanitizer in place of the other.
 * The simulator's own (`weft-sim.node`) stays.
 */
const { dlopen } = process;
process.dlopen = (module, path, ...flags) =>
  dlopen(module, path.endsWith('/weft.node') ? process.env.WEFT_SANITIZED : path, ...flags);
