// The texts that XCTest reports for tests that fail by a check of this library. The failing tests are run by
// hand, as XCTest would count failing tests that it finds.

#if !canImport(ObjectiveC)
  import CipherSQLite
  import Foundation
  import Microblog
  import Migrations
  import ObjectVault
  import ObjectVaultTesting
  import XCTest

  /// Collects the reports of failed tests.
  private final class Reports: XCTestObservation {
    private let texts = Locked<[String]>([])
    var all: [String] { texts.withLock { $0 } }

    func testCase(
      _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?,
      atLine lineNumber: Int
    ) {
      texts.withLock { $0.append(description) }
    }
  }

  final class FailingXCTests: XCTestCase {
    /// Runs the body of a test as XCTest does.
    /// - Returns: The reports of its failures.
    private func reports(_ body: @escaping @Sendable () async throws -> Void) -> [String] {
      let reports = Reports()
      XCTestObservationCenter.shared.addTestObserver(reports)
      defer { XCTestObservationCenter.shared.removeTestObserver(reports) }
      let inner = XCTestCase(name: "testThatFails") { try asyncTest { (_: XCTestCase) in body }($0)() }
      inner.run()
      return reports.all
    }

    private func expect(
      _ body: @escaping @Sendable () async throws -> Void, reports words: String..., line: Int = #line
    ) {
      let found = reports(body)
      if found.count != 1 { fail("one report was expected, and there are: \(found)", line) }
      for word in words where found.first?.contains(word) != true {
        fail("\(word) is not in: \(found)", line)
      }
    }

    /// Not by an assertion: after a test that was run by hand an assertion finds no test to fail.
    private func fail(_ description: String, _ line: Int) {
      recordFailure(withDescription: description, inFile: #filePath, atLine: line, expected: true)
    }

    private static func store() async throws -> TestStore {
      try await TestStore(
        microblog, migrations: MicroblogMigrations.all,
        objects: GeneratedObjects(of: microblog, perEntity: 6, links: .all))
    }

    func testACheckIsReportedWithRowStepAndAdvice() {
      expect(
        {
          try await MigrationLab(
            Steps.set([Steps.blog, "transform sql { DELETE FROM $Status WHERE \"id\" = 3 }"])
          ).checkEveryPath()
        },
        reports: "checkEveryPath, version 1 to 2:\n", "- Status: 1 of 12 rows is missing (row 3)\n",
        "The difference begins after step 2 step2, 0002_step2.migration.", "lab.mayLoseRows")
    }

    func testAnUnknownNameIsReportedWithTheExistingNames() {
      expect(
        {
          let store = try await MigrationLab(Steps.set([Steps.blog])).store(at: 1)
          let id = try store.insert("User", ["name": "Ada", "age": 7])
          _ = try store.object(id)["nam"] as String
        },
        reports: "User has no property \"nam\"; did you mean \"name\"?",
        "The properties of User are age, name, statuses.")
    }

    func testAQueryLimitIsReportedWithTheNumbers() {
      expect(
        {
          let test = try await Self.store()
          try await test.store.read { context in
            try context.withQueryLimit(2) {
              for status in try context.fetch(Status.self).all() { _ = status.user?.name }
            }
          }
        },
        reports: "queries were made, but only 2 are allowed; they returned ", ".prefetch(\\.user)")
    }

    func testUnrecordedCommitsAreReported() {
      expect(
        {
          let test = try await Self.store()
          let recorder = try await test.store.write { context in
            _ = context.insert(User.self) { $0.name = "Late" }
            return ChangeRecorder(test.store)
          }
          _ = try recorder.take()
        },
        reports:
          "ChangeRecorder, take:\n- 1 commit was not recorded\nCreate the recorder before the write begins."
      )
    }

    func testAPartialWriteIsReportedWithTheFaultAndTheRows() {
      expect(
        {
          try await Self.store().checkAllOrNothing(moments: 4) { store in
            for name in ["Two", "Writes"] {
              try await store.write { context in _ = context.insert(User.self) { $0.name = name } }
            }
          }
        },
        reports: "checkAllOrNothing, ", "- User: 1 row is new (row ",
        "Put changes that belong together into one store.write, or into one save of a context.")
    }

    func testASaveThatFailsIsReportedWithTheErrorOfTheApp() {
      expect(
        {
          let test = try await Self.store()
          try test.arm(.noSpace(from: .write(1)))
          try await test.store.write { context in _ = context.insert(User.self) { $0.name = "Ada" } }
        }, reports: "the disk is full")
    }

    func testAPassingTestHasNoReport() {
      let found = reports { _ = try await Self.store().content() }
      if !found.isEmpty { fail("\(found)", #line) }
    }
  }
#endif
