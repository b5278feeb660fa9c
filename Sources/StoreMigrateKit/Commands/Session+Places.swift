// Adds the file and the line to the error of a step that failed on a store. For a step that does not fit
// the model before it, and so never runs, see Session+Plans.swift; for commands without a store,
// StepFolder.swift.

import Foundation
import ObjectVault

extension Session {
  /// Returns an error of a step that ran, with the file and line of its operation in place of the step's
  /// number and name. Any other error is returned unchanged.
  func located(_ error: any Error, of command: any Command.Type) -> any Error {
    // A rollback may run from the store's own record, whose operations are on no line of a file.
    guard command.group == .change, command.name != DownCommand.name, command.name != RedoCommand.name
    else { return error }
    switch error {
    case StoreError.stopped(_, .store(let cause)):
      // Some steps are committed, so the text must not state that the store is unchanged.
      return located(cause).map {
        ExplainedError(code: ExitCode(error), description: StoreError.withoutUnchanged($0))
      } ?? error
    case let failure as StoreError:
      return located(failure).map { ExplainedError(code: ExitCode(error), description: $0) } ?? error
    default: return error
    }
  }

  /// Returns the text of the error with its place; nil when no single operation failed, or when the step
  /// is not among the available ones.
  private func located(_ error: StoreError) -> String? {
    guard let (number, name, operation) = error.failedOperation,
      let step = stepsAtHand?.steps.first(where: { $0.number == number && $0.name == name })
    else { return nil }
    let (place, text) = (
      step.place(ofOperation: operation), "\(error)".trimmingPrefix("Step \(numbered(number)) \(name) ")
    )
    // The reason repeats the requirement, so the text of the operation is omitted.
    let failed = "failed at \(legible(operation)): "
    guard operation.hasPrefix("require \""), text.hasPrefix("\(failed)the requirement ") else {
      return "\(place) \(text)"
    }
    return "\(place): \(text.dropFirst(failed.count))"
  }

  /// The steps that ran, read once more. Warnings about their folder were printed before.
  private var stepsAtHand: MigrationSet? {
    if arguments.value("--migrations") == nil, let set = bundled.set { return set }
    return try? MigrationSet.directory(migrationsFolder)
  }
}

extension StoreError {
  /// The operation at which a step failed, or which rejected rows.
  fileprivate var failedOperation: (number: Int, name: String, operation: String)? {
    switch self {
    case .migrationFailed(let number, let name, let operation, _),
      .rowsRefused(let number, let name, let operation, _):
      (number, name, operation)
    default: nil
    }
  }
}
