import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** Names of the browser in the systems' packages. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser of the system; undefined if there is none, so that tests with one are skipped. */
export const browserPath: string | undefined = NAMES.map((name) =>
  spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim(),
).find((path) => path !== '');

/** Starts the browser of the system. */
export async function startBrowser(): Promise<Browser> {
  // Containers have neither the namespaces of its sandbox nor much shared memory.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
  return chromium.launch({ executablePath: browserPath!, args });
}

/** A page, and everything that its console complained of. */
export interface Watched {
  readonly page: Page;
  readonly complaints: string[];
}

/** Opens a page of its own session. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // An answer of 401 before the sign-in is no fault of the page.
    const isRefusal = message.text().includes('status of 401');
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
  });
  return { page, complaints };
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds on a page, as texts. */
export async function accessFindings(page: Page): Promise<readonly string[]> {
  const source = await readFile(
    createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
    'utf8',
  );
  await page.evaluate(source);
  const found = await page.evaluate<readonly Finding[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}
