import type { Command } from 'commander';
import { addAdopt } from '../service/catalog-adopt.ts';
import { addBackup } from './catalog-backup.ts';
import { addCompact } from './catalog-compact.ts';
import { addConvert } from './catalog-convert.ts';
import { addDropped, addUndrop } from './catalog-dropped.ts';
import { addGc } from './catalog-gc.ts';
import { addRebuild } from './catalog-rebuild.ts';
import { addVerify } from './catalog-verify.ts';
import { addUpgrade } from './catalog-upgrade.ts';
import type { Run } from '../output/output.ts';

/** `arrowgate catalog compact|dropped|undrop|gc|verify|rebuild|backup|upgrade|adopt|convert`. */
export function addCatalog(program: Command, run: Run): void {
  const catalog = program
    .command('catalog')
    .description('maintain the tables, also while a gateway runs');
  addCompact(catalog, run);
  addDropped(catalog, run);
  addUndrop(catalog, run);
  addGc(catalog, run);
  addVerify(catalog, run);
  addRebuild(catalog, run);
  addBackup(catalog, run);
  addUpgrade(catalog, run);
  addAdopt(catalog, run);
  addConvert(catalog, run);
}
