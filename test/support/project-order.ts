import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** What mostly waits comes first, so that what computes runs beside it. */
const projects = ["worker-alone", "worker", "unit", "sandbox", "e2e", "alone"];

/** Starts the files of a run project by project, and longer ones of a project first. */
export class ProjectOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
