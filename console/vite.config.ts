import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  build: {
    target: 'es2022',
    emptyOutDir: true,
    // Data URLs are not allowed by the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
