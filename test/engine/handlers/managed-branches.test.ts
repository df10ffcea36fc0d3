import { freshEngine } from '../../support/engine.ts';
import { managedBranches } from './managed-branches.ts';

managedBranches('in folders', () => freshEngine());
