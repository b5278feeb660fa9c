// Where a step stands that failed on a store. What cannot run at all is told by Session+Plans, and what commands without a
// store tell by StepFolder.

import Foundation
import ObjectVault

extension Session {
  /// An error of a step that ran, with the file and the line of the operation in the place of the step's number and name; any
  /// other error as it is.
  func located(_ error: any Error, of command: any Command.Type) -> any Error {
    // A way back is what the store carries, and stands at no line of the file.
    guard command.group == .change, command.name != DownCommand.name, command.name != RedoCommand.name
    else { return error }
    switch error {
    case StoreError.stopped(_, .store(let cause)):
      // What stands is said of the store itself.
      return located(cause).map {
        ExplainedError(code: ExitCode(error), description: StoreError.withoutUnchanged($0))
      } ?? error
    case let failure as StoreError:
      return located(failure).map { ExplainedError(code: ExitCode(error), description: $0) } ?? error
    default: return error
    }
  }

  /// nil for what is no matter of one operation, and for a step that is not among those at hand.
  private func located(_ error: StoreError) -> String? {
    guard let (number, name, operation) = error.failedOperation,
      let step = stepsAtHand?.steps.first(where: { $0.number == number && $0.name == name })
    else { return nil }
    return step.place(ofOperation: operation) + " "
      + "\(error)".trimmingPrefix("Step \(numbered(number)) \(name) ")
  }

  /// The steps that ran, once more: whatever is to be said of their folder was said.
  private var stepsAtHand: MigrationSet? {
    if arguments.value("--migrations") == nil, let set = bundled.set { return set }
    return try? MigrationSet.directory(migrationsFolder)
  }
}

extension StoreError {
  /// The operation that a step failed at, or that refused rows.
  fileprivate var failedOperation: (number: Int, name: String, operation: String)? {
    switch self {
    case .migrationFailed(let number, let name, let operation, _),
      .rowsRefused(let number, let name, let operation, _):
      (number, name, operation)
    default: nil
    }
  }
}
