import { freshEngine } from '../../support/engine.ts';
import { managedUpkeep } from './managed-upkeep.ts';

managedUpkeep('in folders', () => freshEngine());
