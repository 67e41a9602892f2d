/** Reductions of rows and of their few columns: one kernel, which reads each row once. */
import { describePrograms } from '../support/ordinary-programs.js';
import { ROW_COLUMN_PROGRAMS } from '../support/row-column-programs.js';

describePrograms(ROW_COLUMN_PROGRAMS);
