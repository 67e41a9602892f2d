// VitePress's own theme with a few colours and sizes of ours.
import theme from 'vitepress/theme';
import './style.css';

export { theme as default };
