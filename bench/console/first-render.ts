import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext } from 'playwright-core';
import { browserPath, startBrowser } from '../../test/console/browser.ts';
import { ADMIN_KEY } from '../../test/support/service.ts';

/** Pages by their names. */
const PAGES = { overview: '', trail: 'trail' };
/** A text that is on each of them once it has its data. */
const DATA = 'user:u';

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
    return { pages, bytes: await sizeOf(`${url}/console/`) };
  } finally {
    await browser.close();
  }
}

/** A context of its own with a session, and nothing in its cache. */
async function signedIn(browser: Browser, url: string): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
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
