// Installs the libraries of this folder and runs its tests: `npm run exchange`. Weft has to be built. Scripts of
// packages are not run (onnxruntime's loads a CUDA library), but for that of node-calls-python, which is compiled
// against the Python on the path; its tests use NumPy of WEFT_PYTHON_PACKAGES, or of a folder that is made with pip.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const NUMPY = 'numpy==2.4.6';
const packages = process.env.WEFT_PYTHON_PACKAGES ?? join(FOLDER, 'node_modules/.python');

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, {
    cwd: FOLDER,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (!process.argv.includes('--installed')) {
  run('npm', ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']);
  run('npm', ['rebuild', 'node-calls-python', '--foreground-scripts']);
  if (!existsSync(packages)) run('python3', ['-m', 'pip', 'install', '--quiet', '--target', packages, NUMPY]);
}
const tests = readdirSync(FOLDER).filter((name) => name.endsWith('.test.mjs'));
run(process.execPath, ['--test', ...tests], { WEFT_PYTHON_PACKAGES: packages });
