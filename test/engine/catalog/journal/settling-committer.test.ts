import { describe, expect, it } from 'vitest';
import type { Committer, Decided } from '../../../../src/engine/catalog/records/commit-loop.ts';
import { SettlingCommitter } from '../../../../src/engine/catalog/journal/settling-committer.ts';
import type { CommitResult } from '../../../../src/store/store.ts';

const committed: CommitResult = { kind: 'committed', sequence: 1n };
const write = { key: 'k', value: Buffer.from('v') };

/** A committer whose store has decided, and whose journal is being written until it is let go. */
function slowJournal(said: string[]) {
  let go = (): void => undefined;
  const flushed = new Promise<void>((resolve) => (go = resolve));
  const committer: Committer = {
    async commit(_checks, _writes, decided?: Decided) {
      await Promise.all([decided?.(), flushed]);
      said.push('committed');
      return committed;
    },
    async catchUp() {
      said.push('caught up');
    },
  };
  return { committer: new SettlingCommitter(committer), go: () => go() };
}

describe('a commit', () => {
  it('has what follows from it done while the journal gets its line', async () => {
    const said: string[] = [];
    const { committer, go } = slowJournal(said);
    const commit = committer.commit([], [write], async () => {
      said.push('decided');
      go();
    });
    expect(await commit).toEqual(committed);
    expect(said).toEqual(['decided', 'committed']);
  });

  it('of this process settles its keys when it is over, and nothing is written down again', async () => {
    const said: string[] = [];
    const { committer, go } = slowJournal(said);
    const commit = committer.commit([], [write]);
    const settled = committer.settle('k').then(() => said.push('settled'));
    go();
    await Promise.all([commit, settled]);
    expect(said).toEqual(['committed', 'settled']);
  });

  it('of another process upon one of this is written down, though that is still on its way', async () => {
    const said: string[] = [];
    const { committer, go } = slowJournal(said);
    const commit = committer.commit([], [write]);
    await committer.settle('k', Buffer.from('newer'));
    expect(said).toEqual(['caught up']);
    const settled = committer.settle('k', Buffer.from('v')).then(() => said.push('settled'));
    go();
    await Promise.all([commit, settled]);
    expect(said).toEqual(['caught up', 'committed', 'settled']);
  });

  it('of another process is written down before its keys are settled', async () => {
    const said: string[] = [];
    const { committer } = slowJournal(said);
    await Promise.all([committer.settle('k'), committer.settle('other')]);
    expect(said).toEqual(['caught up']);
  });
});
