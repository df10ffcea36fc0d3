import { describe, expect, it } from 'vitest';
import { PolicyAgreement } from '../../src/gateway/policy-agreement.ts';
import { openNotesFolder } from '../../src/store/embedded/notes.ts';
import { testFolders } from '../support/folder.ts';

const newFolder = testFolders();

/** A gateway with a policy and a clock that a test sets. */
class TestGateway {
  digest: string;
  nowMillis = 0;
  readonly changes: (string | undefined)[] = [];
  readonly agreement: PolicyAgreement;

  constructor(folder: string, digest: string) {
    this.digest = digest;
    this.agreement = new PolicyAgreement({
      open: () => openNotesFolder(folder),
      digest: () => this.digest,
      onChange: (fault) => this.changes.push(fault),
      now: () => this.nowMillis,
    });
  }

  /** One step at a time, in seconds. */
  async at(seconds: number): Promise<string | undefined> {
    this.nowMillis = seconds * 1000;
    await this.agreement.step();
    return this.agreement.fault();
  }
}

describe('the policies of several gateways', () => {
  it('may differ for less than ten seconds, and are reported once after that', async () => {
    const folder = await newFolder();
    const one = new TestGateway(folder, 'a');
    const two = new TestGateway(folder, 'b');
    await two.at(0);
    for (let second = 0; second < 10; second += 2) {
      expect([await one.at(second), await two.at(second)]).toEqual([undefined, undefined]);
    }
    for (let second = 10; second < 16; second += 2) {
      expect(await one.at(second)).toMatch(/this one has a, \S+ has b;/);
      await two.at(second);
    }
    expect(one.agreement.digests).toBe(2);
    two.digest = 'a';
    await two.at(16);
    expect(await one.at(16)).toBeUndefined();
    expect(one.changes).toEqual([expect.stringContaining('different policies'), undefined]);
    expect(one.agreement.digests).toBe(1);
    await one.agreement.close();
    await two.agreement.close();
  });

  it('of a gateway that is gone, or was killed, do not count', async () => {
    const folder = await newFolder();
    const [one, two] = [new TestGateway(folder, 'a'), new TestGateway(folder, 'b')];
    await two.at(0);
    for (let second = 0; second < 30; second += 2) expect(await one.at(second)).toBeUndefined();
    await one.at(70);
    const notes = await openNotesFolder(folder);
    expect(await notes.all()).toHaveLength(1);
    // A gateway that was stopped for a while, and goes on, publishes again.
    await two.at(72);
    expect(await notes.all()).toHaveLength(2);
    await one.agreement.close();
    await two.agreement.close();
    expect(await notes.all()).toEqual([]);
  });

  it('keep their last result while the notes cannot be read', async () => {
    const agreement = new PolicyAgreement({
      open: () => Promise.reject(new Error('away')),
      digest: () => 'a',
      onChange: () => undefined,
    });
    await agreement.step();
    expect([agreement.fault(), agreement.digests]).toEqual([undefined, 1]);
    await agreement.close();
  });
});
