/** A reporter of vitest: what is left out (skip, skipIf, todo) fails the run, as make test fails for tests in Go. */
export default class EveryTest {
  onTestRunEnd(modules) {
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        console.error(`${module.relativeModuleId}: ${test.fullName}: left out`);
        process.exitCode = 1;
      }
    }
  }
}
