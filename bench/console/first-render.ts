import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { accessFindings, browserPath, startBrowser } from '../../test/console/browser.ts';
import { ADMIN_KEY } from '../../test/support/service.ts';

/** Pages by their names. */
const PAGES = { overview: '', trail: 'trail' };
/** A text that is on each of them once it has its data. */
const DATA = 'user:u';

/** Every page, and the widths and themes in which each is opened. */
const ALL = ['', 'trail', 'catalog', 'access', 'policy', 'rules', 'keys', 'integrity'];
const WIDTHS = [1280, 390];
const THEMES = ['light', 'dark'] as const;
/** How long no request is sent by a page that has its data, in ms. */
const IDLE_MILLIS = 500;

/** Times of a page that a browser without a cache opens, in ms from the start of its navigation. */
export interface Render {
  readonly name: string;
  /** The first paint with content. */
  readonly first: readonly number[];
  /** The whole page with its data. */
  readonly whole: readonly number[];
}

export interface Renders {
  readonly pages: readonly Render[];
  /** Of every page in each width and theme, in ms: until its last answer. */
  readonly every: readonly Opened[];
  /** Compressed bytes of all that the page loads before its data. */
  readonly bytes: number;
}

/** Opens pages of a running console in the browser of the system; undefined if there is none. */
export async function firstRenders(url: string, rounds: number): Promise<Renders | undefined> {
  if (browserPath === undefined) return undefined;
  const browser = await startBrowser();
  try {
    const pages: Render[] = [];
    for (const [name, path] of Object.entries(PAGES)) {
      const times: Times[] = [];
      for (let round = 0; round < rounds; round++) {
        times.push(await timesOf(await signedIn(browser, url), `${url}/console/${path}`));
      }
      const [first, whole] = [times.map((each) => each.first), times.map((each) => each.whole)];
      pages.push({ name, first, whole });
    }
    const every = await openedEach(browser, url);
    return { pages, every, bytes: await sizeOf(`${url}/console/`) };
  } finally {
    await browser.close();
  }
}

/** A context of its own with a session, and nothing in its cache. */
async function signedIn(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = { viewport: { width: 1280, height: 900 } },
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  const answer = await context.request.post(`${url}/console/session`, { data: { key: ADMIN_KEY } });
  if (!answer.ok()) throw new Error(`the session was refused: ${await answer.text()}`);
  return context;
}

interface Times {
  readonly first: number;
  readonly whole: number;
}

async function timesOf(context: BrowserContext, address: string): Promise<Times> {
  const page = await context.newPage();
  await page.goto(address);
  await page.locator('main').getByText(DATA).first().waitFor();
  const whole = await page.evaluate<number>('performance.now()');
  const first = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  );
  await context.close();
  return { first, whole };
}

/** A page as it was opened once. */
export interface Opened {
  readonly name: string;
  readonly millis: number;
  /** What axe-core finds, what the console of the browser complains of, and what is wider than the window. */
  readonly faults: readonly string[];
}

async function openedEach(browser: Browser, url: string): Promise<readonly Opened[]> {
  const opened: Opened[] = [];
  for (const colorScheme of THEMES) {
    for (const width of WIDTHS) {
      const context = await signedIn(browser, url, {
        viewport: { width, height: 900 },
        colorScheme,
      });
      for (const path of ALL) {
        const name = `${path || 'overview'}, ${width}, ${colorScheme}`;
        opened.push({ name, ...(await openedOnce(context, `${url}/console/${path}`)) });
      }
      await context.close();
    }
  }
  return opened;
}

async function openedOnce(context: BrowserContext, address: string): Promise<Omit<Opened, 'name'>> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(address, { waitUntil: 'networkidle' });
  const millis = (await page.evaluate<number>('performance.now()')) - IDLE_MILLIS;
  const isWide = await page.evaluate<boolean>(
    'document.documentElement.scrollWidth > window.innerWidth',
  );
  const wide = isWide ? ['it is wider than the window'] : [];
  const faults = [...complaints, ...wide, ...(await accessFindings(page))];
  await page.close();
  return { millis, faults };
}

/** The document and what it names, each compressed. */
async function sizeOf(address: string): Promise<number> {
  const document = await (await fetch(address)).text();
  const names = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name!);
  const parts = names.map(async (name) => {
    const answer = await fetch(new URL(name, address));
    return gzipSync(new Uint8Array(await answer.arrayBuffer())).length;
  });
  const sizes = await Promise.all(parts);
  return sizes.reduce((sum, size) => sum + size, gzipSync(document).length);
}
