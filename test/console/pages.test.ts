import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../service/http.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { makeTable } from './example-table.ts';
import { accessFindings, browserPath, openPage, startBrowser, type Watched } from './browser.ts';

/** The pages of the console in a real browser. */

const POLICY = `p, role:admin, /**, *, allow
p, role:auditor, /system/**, audit, allow
p, role:analyst, /prod/**, read, allow
p, role:analyst, /prod/hr/**, *, deny
g, user:alice, role:analyst
g, user:eve, role:auditor
p, role:auditor, /prod/people, read, allow
p, role:nobody, /prod/people, read, allow
`;

const CASES = `cases:
  - subject: user:alice
    action: QueryTable
    object: /prod/hr/salaries
    expect: deny
    because: salaries are for few
  - subject: user:alice
    action: QueryTable
    object: /prod/people
    expect: allow
`;

const COMMITS = `rules:
  - name: people-stay
    tables: ["/prod/people"]
    require:
      no_drop: true
      max_rows: 1000000
  - name: positive
    tables: ["/prod/people"]
    mode: warn
    require: { check: "id > 5" }
`;

const LIMITS = `limits:
  - name: fair
    subjects: ["user:alice"]
    rate: 1000/h
`;

/** A folder to keep pictures in, for people; none are kept without. */
const PICTURES = process.env['ARROWGATE_TEST_PICTURES'];

const reason = 'chromium is not installed';
const needsBrowser = browserPath === undefined ? describe.skip : describe;

needsBrowser(`the console in a browser${browserPath === undefined ? ` (${reason})` : ''}`, () => {
  let service: Service;
  let browser: Browser;
  let eve: string;
  let alice: string;

  beforeAll(async () => {
    service = await Service.prepare({ policy: POLICY, commits: COMMITS, limits: LIMITS });
    await writeFile(`${service.policies}/cases.yaml`, CASES);
    await service.restart();
    eve = await service.keyByCommand('eve');
    alice = await service.keyByCommand('alice');
    await makeTable(service.url);
    await send(service.url, 'POST /v1/namespace/prod$hr/create', { body: {} });
    for (let round = 0; round < 30; round++) {
      await send(service.url, 'POST /v1/table/prod$sales/count_rows', { body: {}, key: alice });
      await send(service.url, 'POST /v1/table/prod$hr$salaries/query', { body: {}, key: alice });
    }
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function signedIn(
    options: BrowserContextOptions = {},
    key: string = eve,
  ): Promise<Watched> {
    const watched = await openPage(browser, options);
    const { page } = watched;
    await page.goto(`${service.url}/console/`);
    await page.getByLabel('Key or token').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    return watched;
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES === undefined) return;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true });
  }

  it('narrows the charts to an operation and a caller, and leads to their trail', async () => {
    const { page, complaints } = await signedIn();
    const cell = (name: string) =>
      page.locator('table.top').getByRole('link', { name, exact: true });
    await cell('QueryTable').first().click();
    await page.waitForURL(/operation=QueryTable/);
    await cell('user:alice').first().click();
    await page.waitForURL(/subject=user%3Aalice/);
    const shown = page.getByRole('navigation', { name: 'Shown requests' });
    await shown.getByText('subject user:alice').waitFor();
    const whole = async () => (await page.locator('table.top').allInnerTexts()).join('\n');
    await eventually(async () => expect(await whole()).not.toMatch(/CountTableRows|user:eve/));
    expect(await whole()).toMatch(/QueryTable[^]*user:alice/);
    await picture(page, 'overview-narrowed');
    await shown.getByRole('link', { name: 'Their trail' }).click();
    await page.waitForURL(/trail\?.*operation=QueryTable/);
    const rows = page.locator('table.rows tbody tr');
    await rows.first().waitFor();
    for (const text of await rows.allInnerTexts()) {
      expect([text.includes('user:alice'), text.includes('QueryTable')]).toEqual([true, true]);
    }
    expect(complaints).toEqual([]);
  });

  it('answers who read the salaries, and why', async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Trail', exact: true }).click();
    await page.getByLabel('Object').fill('/prod/hr/**');
    await page.getByLabel('Who', { exact: true }).fill('alice');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(/object=%2Fprod%2Fhr/);
    const rows = page.locator('table.rows tbody tr');
    await eventually(async () => expect(await rows.count()).toBe(30));
    expect(await rows.first().innerText()).toContain('/prod/hr/salaries');
    expect(await rows.first().innerText()).toContain('deny');
    await picture(page, 'trail');
    await rows.first().getByRole('link').click();
    await page.getByText('(the line that decided)').waitFor({ state: 'attached' });
    expect(await page.locator('.lines .deciding code').innerText()).toBe(
      'p, role:analyst, /prod/hr/**, *, deny',
    );
    const text = await page.locator('main').innerText();
    expect(text).toContain('user:alice asked for QueryTable on /prod/hr/salaries');
    expect(text).toContain('role:analyst from policy.csv:5 (user:alice)');
    await picture(page, 'request');
    await page.getByRole('link', { name: 'Whether the policy of now allows it' }).click();
    await page.getByRole('region', { name: 'Verdict' }).waitFor();
    expect(await page.getByRole('region', { name: 'Verdict' }).innerText()).toContain(
      'policy.csv:4',
    );
    await picture(page, 'access');
    expect(complaints).toEqual([]);
  });

  it('has every filter in its address, which others can open', async () => {
    const { page, complaints } = await signedIn();
    await page.goto(`${service.url}/console/trail?decision=deny&subject=user%3Aalice&since=1h`);
    const rows = page.locator('table.rows tbody tr');
    await eventually(async () => expect(await rows.count()).toBe(30));
    expect(await page.getByLabel('Decision').inputValue()).toBe('deny');
    expect(await page.getByLabel('Who', { exact: true }).inputValue()).toBe('user:alice');
    await page.goto(`${service.url}/console/trail?subject=alice`);
    await eventually(async () => expect(await rows.count()).toBe(50));
    await page.getByRole('link', { name: 'Older' }).click();
    await eventually(async () => expect(await rows.count()).toBe(10));
    await page.goBack();
    await eventually(async () => expect(await rows.count()).toBe(50));
    expect(complaints).toEqual([]);
  });

  it('follows requests as they end', async () => {
    const { page, complaints } = await signedIn();
    await page.goto(`${service.url}/console/trail?object=/prod/live&live=on`);
    await page.getByText('Requests appear here').waitFor();
    await eventually(async () => {
      await send(service.url, 'POST /v1/table/prod$live/count_rows', { body: {}, key: alice });
      expect(await page.locator('table.rows tbody tr').count()).toBeGreaterThan(0);
    });
    expect(complaints).toEqual([]);
  });

  it('is used with the keyboard alone', async () => {
    const { page } = await signedIn();
    await page.goto(`${service.url}/console/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const focused = (): Promise<string> =>
      page.evaluate('document.activeElement?.textContent ?? ""');
    for (const name of ['Skip to the content', 'Arrowgate', 'Overview', 'Trail']) {
      await page.keyboard.press('Tab');
      expect(await focused()).toBe(name);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Trail' }).waitFor();
    await page.getByLabel('Who', { exact: true }).focus();
    await page.keyboard.type('nobody-of-this-name');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No requests' }).waitFor();
  });

  describe.each([
    ['light on a desk', { colorScheme: 'light', viewport: { width: 1280, height: 900 } }],
    ['dark on a desk', { colorScheme: 'dark', viewport: { width: 1280, height: 900 } }],
    ['light on a phone', { colorScheme: 'light', viewport: { width: 390, height: 800 } }],
  ] as const)('%s', (name, options) => {
    it.each([
      ['overview', '', 'table.top'],
      ['trail', 'trail', 'table.rows'],
      ['access', 'access?subject=alice&action=QueryTable&object=/prod/x', '.card'],
      ['rights', 'access?subject=alice', 'table.rows'],
      ['rights-of-object', 'access?object=/prod/people', 'table.rows'],
      ['unused', 'access/unused', '.wide-card'],
      ['policy', 'policy', '.code li'],
      ['cases', 'policy/cases', 'table.rows'],
      ['history', 'policy/history', 'table.rows'],
      ['propose', 'policy/propose', 'textarea'],
      ['rules', 'rules?table=/prod/people', '.total'],
      ['dropped', 'catalog/dropped', '.state.empty'],
      ['keys', 'keys', 'table.rows'],
      ['integrity', 'integrity', 'table.rows'],
      ['catalog', 'catalog?in=/prod', '.names a'],
      ['table', 'catalog?table=/prod/people&one=1&other=2', 'table.rows'],
      ['empty', 'trail?subject=nobody', '.state.empty'],
      ['refused', 'trail?status=9xx', '.state.failure'],
      ['missing', 'request/no-such-decision', '.state.failure'],
    ])(`%s can be read by everyone, and fits`, async (view, path, shown) => {
      const { page } = await signedIn(options);
      await page.goto(`${service.url}/console/${path}`);
      await page.locator(shown).first().waitFor();
      await eventually(async () => expect(await page.locator('.loading').count()).toBe(0));
      await picture(page, `${view}-${name.replaceAll(' ', '-')}`);
      expect(await accessFindings(page)).toEqual([]);
      const wider = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(wider).toBe(0);
      await page.context().close();
    });
  });

  it('shows a table: who made its versions, what two of them differ in, and who can read it', async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Catalog', exact: true }).click();
    await page.getByRole('link', { name: 'prod', exact: true }).click();
    await page.getByRole('link', { name: 'people', exact: true }).click();
    const rows = page.locator('table.rows tbody tr');
    await eventually(async () =>
      expect(await rows.allInnerTexts()).toEqual([
        expect.stringMatching(/^3\s[^]*user:admin[^]*AlterTableAddColumns, changed the schema/),
        expect.stringMatching(/^2\s[^]*InsertIntoTable[^]*\+2 −0/),
        expect.stringMatching(/^1\s[^]*CreateTable/),
      ]),
    );
    await page.getByRole('button', { name: 'Compare two versions' }).click();
    const comparison = page.getByRole('region', { name: 'Comparison' });
    await comparison.getByText('absent').waitFor();
    expect(await comparison.innerText()).toMatch(/From version 2 to version 3[^]*twice[^]*int64/);
    const who = page.getByRole('region', { name: 'Who can' });
    await who.getByText('role:analyst').waitFor();
    expect(await who.innerText()).toContain('policy.csv:3');
    expect(await page.getByRole('region', { name: 'Branches and tags' }).innerText()).toMatch(
      /dev[^]*gold at version 2/,
    );
    await picture(page, 'table');
    await page.getByRole('link', { name: 'AlterTableAddColumns' }).click();
    await page.getByRole('heading', { name: 'Request' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('judges a change of the policy, and hands it out as a patch', async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Policy', exact: true }).click();
    await page.getByRole('region', { name: 'Text of policy.csv' }).waitFor();
    expect(await page.locator('.code li.warning').innerText()).toContain('role:nobody');
    await page.getByRole('link', { name: 'Propose a change' }).click();
    const text = page.getByLabel('Text of policy.csv');
    const before = await text.inputValue();
    expect(before).toBe(POLICY);
    await text.fill(before.replace('p, role:analyst, /prod/hr/**, *, deny\n', ''));
    await page.getByRole('button', { name: 'Check the change' }).click();
    const replay = page.getByRole('region', { name: 'Replay' });
    await replay.getByText('Would be allowed now').waitFor();
    expect(await replay.locator('tbody tr').first().innerText()).toMatch(
      /gains[^]*user:alice[^]*\/prod\/hr\/salaries/,
    );
    const access = page.getByRole('region', { name: 'Whose access changes' });
    expect(await access.innerText()).toContain('/prod/hr/**');
    await page.getByText('Gateways would refuse this change').waitFor();
    await picture(page, 'proposal');
    expect(await accessFindings(page)).toEqual([]);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download the patch' }).click();
    const folder = await mkdtemp(`${tmpdir()}/arrowgate-patch-`);
    try {
      await (await download).saveAs(`${folder}/policy.patch`);
      await cp(service.policies, folder, { recursive: true });
      const env = { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() };
      const applied = spawnSync('git', ['apply', 'policy.patch'], { cwd: folder, env });
      expect([applied.status, String(applied.stderr)]).toEqual([0, '']);
      expect(await readFile(`${folder}/policy.csv`, 'utf8')).not.toContain('/prod/hr/**');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    expect(await readFile(`${service.policies}/policy.csv`, 'utf8')).toBe(POLICY);
    expect(complaints).toEqual([]);
  });

  it('takes uploaded files, and stops work that takes long', async () => {
    const { page } = await signedIn();
    await page.goto(`${service.url}/console/policy/propose`);
    const files = [
      { name: 'limits.yaml', mimeType: 'text/yaml', buffer: Buffer.from('limits: []\n') },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x\n') },
    ];
    await page.getByLabel('Or upload files').setInputFiles(files);
    await page.getByText('Changed: limits.yaml, notes.txt').waitFor();
    await page.getByRole('button', { name: 'Check the change' }).click();
    await page.getByText('"notes.txt" is no policy file').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Discard it' }).click();
    await page.getByText('Nothing is changed yet').waitFor();
    await page.route('**/console/api/policy/propose', () => undefined);
    await page.getByLabel('Text of limits.yaml').fill('limits: []\n');
    await page.getByRole('button', { name: 'Check the change' }).click();
    await page.getByText('Checking the files and cases').waitFor();
    await picture(page, 'working');
    expect(await accessFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await eventually(async () =>
      expect(await page.getByText('Checking the files and cases').count()).toBe(0),
    );
  });

  it('shows the rights of a user with the line behind each, and follows them to the file', async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Access', exact: true }).click();
    await page.getByText('Whose rights?').waitFor();
    await page.getByLabel('Name, id or path').fill('alice');
    await page.keyboard.press('Enter');
    const rows = page.locator('table.rows tbody tr');
    await eventually(async () =>
      expect(await rows.allInnerTexts()).toEqual([
        expect.stringMatching(/\/prod\/\*\*[^]*allow[^]*read[^]*policy\.csv:3/),
        expect.stringMatching(/\/prod\/hr\/\*\*[^]*deny[^]*policy\.csv:4/),
      ]),
    );
    await page.getByLabel('Name, id or path').fill('/prod/people');
    await page.keyboard.press('Enter');
    await rows.getByText('role:analyst').first().waitFor();
    await page.getByRole('link', { name: 'policy.csv:3' }).first().click();
    await page.getByRole('region', { name: 'Text of policy.csv' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what the rules would have refused, and rates in use', async () => {
    await send(service.url, 'POST /v1/table/prod$people/count_rows', { body: {}, key: alice });
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page
      .getByRole('region', { name: 'Commit rules' })
      .getByText('people-stay', { exact: true })
      .waitFor();
    await page.getByRole('region', { name: 'In use now' }).getByText('user:alice').waitFor();
    await page.getByLabel('Table', { exact: true }).fill('/prod/people');
    await page.getByRole('button', { name: 'Check its commits' }).click();
    const past = page.getByRole('region', { name: 'Check of past commits' });
    await past.getByRole('link', { name: 'commits.yaml:7' }).first().waitFor();
    expect(complaints).toEqual([]);
  });

  it('brings a dropped table back', async () => {
    const { page, complaints } = await signedIn({}, ADMIN_KEY);
    const namespace = 'POST /v1/table/prod$gone';
    await send(service.url, `${namespace}/declare`, { body: {} });
    await send(service.url, `${namespace}/drop`, { body: {} });
    await page.getByRole('link', { name: 'Catalog', exact: true }).click();
    await page.getByRole('link', { name: 'Dropped tables' }).click();
    await page.getByRole('button', { name: 'Bring back /prod/gone' }).click();
    await picture(page, 'undrop');
    expect(await accessFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Bring it back' }).click();
    await page.getByText('is back, with its versions').waitFor();
    expect(complaints).toEqual([]);
  });

  it('makes, rotates and revokes a key, and shows its text once', async () => {
    const { page, complaints } = await signedIn({}, ADMIN_KEY);
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Owner', { exact: true }).fill('zoe');
    await page.getByLabel('Roles of this key').fill('role:analyst, auditor');
    await picture(page, 'new-key');
    expect(await accessFindings(page)).toEqual([]);
    await page.keyboard.press('Enter');
    const news = page.getByRole('region', { name: 'New key' });
    await news.waitFor();
    const text = await news.locator('.secret').innerText();
    const [, id = ''] = text.split('_');
    await picture(page, 'made-key');
    expect(await accessFindings(page)).toEqual([]);
    await news.getByRole('button', { name: 'I have it' }).click();
    expect(await page.locator('body').innerText()).not.toContain(text);
    const row = page.locator('table.rows tbody tr', { hasText: id });
    await row.getByText('by user:').waitFor();
    await page.getByRole('button', { name: `Rotate ${id}` }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await news.waitFor();
    await page.getByRole('button', { name: `Revoke ${id}` }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: `Revoke ${id}` }).click();
    await picture(page, 'revoke-key');
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await row.getByText('revoked').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says what is wrong with a new key, and shows nobody else how to change keys', async () => {
    const { page } = await signedIn({}, ADMIN_KEY);
    await page.goto(`${service.url}/console/keys`);
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Owner', { exact: true }).fill('role:zoe');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByText('role:zoe is a role, but a user is needed').waitFor();
    const { page: other } = await signedIn();
    await other.goto(`${service.url}/console/keys`);
    await other.locator('table.rows').waitFor();
    expect(await other.getByRole('button', { name: 'New key' }).count()).toBe(0);
    expect(await other.getByRole('button', { name: /^Revoke/ }).count()).toBe(0);
  });

  it('marks a request with the keyboard, and finds it by its mark', async () => {
    const { page, complaints } = await signedIn();
    await page.goto(`${service.url}/console/trail?object=/prod/hr/**`);
    await page.locator('table.rows tbody tr').first().getByRole('link').click();
    await page.getByLabel('Mark it as').focus();
    await page.keyboard.type('Fl');
    await page.getByLabel('Note').fill('ask alice');
    await page.keyboard.press('Enter');
    const review = page.getByRole('region', { name: 'Review' });
    await review.getByText('ask alice').waitFor();
    await picture(page, 'review');
    expect(await accessFindings(page)).toEqual([]);
    await page.goto(`${service.url}/console/`);
    await page.getByRole('link', { name: '1 request is flagged' }).click();
    const rows = page.locator('table.rows tbody tr');
    await eventually(async () => expect(await rows.allInnerTexts()).toHaveLength(1));
    expect(await rows.first().innerText()).toContain('flagged');
    expect(complaints).toEqual([]);
  });

  it('verifies the log and hands out evidence', async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole('link', { name: 'Integrity', exact: true }).click();
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('Every chain is whole.').waitFor();
    const earlier = page.getByRole('region', { name: 'Earlier verifications' });
    await earlier.getByText('user:eve').first().waitFor();
    await page.getByText('Checkpoints', { exact: true }).click();
    const checkpoints = page.getByRole('region', { name: 'Newest checkpoint of each chain' });
    await checkpoints
      .getByRole('cell', { name: /^\d{8}T\d{6}Z-/ })
      .first()
      .waitFor();
    await picture(page, 'verified');
    expect(await accessFindings(page)).toEqual([]);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await saved).suggestedFilename()).toMatch(/^evidence-.*\.tar\.gz$/);
    await page.getByText('The archive was downloaded.').waitFor();
    await page.goto(`${service.url}/console/`);
    await page.getByRole('heading', { name: 'Log verified' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('says what is wrong with a sign-in', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${service.url}/console/trail`);
    await page.getByLabel('Key or token').fill(alice);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toBe('user:alice may not QueryTable on /system/audit');
    expect(await accessFindings(page)).toEqual([]);
    await picture(page, 'sign-in');
  });

  it('asks for a key again when the session has ended, and says so', async () => {
    const { page } = await signedIn();
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Trail', exact: true }).click();
    await page.getByText('Your session has ended').waitFor();
  });

  it('says that the service is away, and goes on when it is back', async () => {
    const { page } = await signedIn();
    await page.route('**/console/api/requests*', (route) => route.abort());
    await page.getByRole('link', { name: 'Trail', exact: true }).click();
    await page.getByText('The service cannot be reached').waitFor();
    await page.unroute('**/console/api/requests*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('table.rows').waitFor();
  });

  it('signs out', async () => {
    const { page } = await signedIn();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Key or token').waitFor();
    await page.reload();
    await page.getByLabel('Key or token').waitFor();
  });
});
