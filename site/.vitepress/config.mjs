// Settings of the site. Its pages and sidebar are written by build.mjs beside this folder.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const made = (path) => fileURLToPath(new URL(`../../build/site/${path}`, import.meta.url));

export default defineConfig({
  title: 'Weft',
  description: 'Lazy arrays for Node.js: one graph, fused and compiled for NVIDIA GPUs and for the CPU',
  srcDir: made('pages'),
  outDir: made('html'),
  cacheDir: made('cache'),
  cleanUrls: false,
  lastUpdated: false,
  markdown: { theme: { light: 'github-light', dark: 'github-dark' }, languageAlias: { cuda: 'cpp' } },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Guide', link: '/guide/first-steps', activeMatch: '^/(guide|readme)' },
      { text: 'Cookbook', link: '/cookbook/', activeMatch: '^/cookbook/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'How it works', link: '/design/architecture', activeMatch: '^/design/' },
    ],
    sidebar: JSON.parse(readFileSync(made('sidebar.json'), 'utf8')),
    outline: { level: [2, 3] },
    docFooter: { prev: false, next: false },
  },
});
