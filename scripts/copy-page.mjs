// Copies the dashboard's page to dist as it is: `tsc` makes JavaScript of TypeScript alone. Part of `npm run build:ts`.
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = 'src/inspect/dashboard/page';
const root = fileURLToPath(new URL('..', import.meta.url));
cpSync(`${root}${PAGE}`, `${root}dist/${PAGE}`, {
  recursive: true,
  filter: (path) => !path.endsWith('tsconfig.json'),
});
