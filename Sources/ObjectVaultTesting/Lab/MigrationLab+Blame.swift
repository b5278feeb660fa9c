// Finds the step that caused the findings of a check, and what to do about it.

internal import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Checks that steps have kept the content of a store.
  /// - Parameters:
  ///   - place: The place within the check; empty for the check as a whole.
  ///   - start: Returns a copy of the store as it was before the steps, from which the responsible step
  ///     is found.
  /// - Throws: ``CheckFailure`` with the differences.
  func requireKept(
    before: StoreContent, after: StoreContent, by check: String, at place: String = "",
    showsValues: Bool = true, from start: () async throws -> FolderFile
  ) async throws {
    let differences = try differences(from: before, to: after, showsValues: showsValues)
    guard !differences.isEmpty else { return }
    let step = try await firstStep(from: before, to: after.version, start)
    throw CheckFailure(
      check, at: place, findings: differences,
      advice: ([step.map { "The difference begins after \(called($0)), \($0.fileName)." }].compactMap { $0 }
        + Self.advice(on: differences)).joined(separator: " "))
  }

  private func differences(
    from before: StoreContent, to after: StoreContent, showsValues: Bool = true
  ) throws -> [String] {
    let names = try NameHistory(migrations, from: before.version, to: after.version)
    return ContentComparison(
      from: before, to: after, names: names, showsValues: showsValues, mayLose: mayLoseRows
    )
    .differences
  }

  /// Returns what to do about differences between a store before and after steps.
  static func advice(on differences: [String]) -> [String] {
    // A sentence without "missing" is about values or orders; one with "missing (row" is about objects.
    let hasLost = differences.contains { $0.contains(" missing (row") }
    let hasChanged = differences.contains { !$0.contains(" missing (") }
    let hasUnlinked = differences.contains { $0.contains(" missing (") && !$0.contains(" missing (row") }
    return [
      hasLost ? "If a step deletes rows on purpose, allow that with lab.mayLoseRows." : nil,
      hasChanged || hasUnlinked
        ? "If a step changes values or links on purpose, name the property in its block, so that it is not "
          + "compared, as in "
          + "UPDATE $User SET $User.name = …." : nil,
    ].compactMap { $0 }
  }

  /// Returns the first step after which the content differs; nil when a step cannot run alone, or no
  /// single step is to blame.
  private func firstStep(
    from before: StoreContent, to version: Int, _ start: () async throws -> FolderFile
  ) async throws -> MigrationStep? {
    guard version > before.version + 1 else { return step(version) }
    let file = try await start()
    for number in before.version + 1...version {
      // A step that cannot run alone ran together with the others, so no single step is to blame.
      guard
        (try? await Store.migrate(
          at: file.url, key: key, migrations: migrations.upTo(number), makesBackups: false)) != nil
      else { return nil }
      if try !differences(from: before, to: StoreContent(at: file.url, key: key)).isEmpty {
        return step(number)
      }
    }
    return nil
  }

  func step(_ number: Int) -> MigrationStep? {
    migrations.steps.indices.contains(number - 1) ? migrations.steps[number - 1] : nil
  }

  /// Returns a step in words, such as `step 3 city`.
  func called(_ step: MigrationStep) -> String { "step \(step.number) \(step.name)" }

  /// Returns the operations after a version that call functions of the app.
  func calls(after version: Int) -> [String] {
    migrations.steps.dropFirst(version).flatMap { step in
      step.operations.filter(\.callsApp).map { "\(called(step)): \($0.summary)" }
    }
  }
}

extension MigrationOperation {
  /// Whether the operation calls a function of the app.
  fileprivate var callsApp: Bool {
    switch self {
    case .transformSwift, .retypeBySwift: true
    default: false
    }
  }
}
