// Runs one command line, and returns its output.

import CipherSQLite
import Foundation
import ObjectVault

extension StoreMigrate {
  /// Prints the warnings of a run whose report cannot contain them.
  private static func tell(_ warnings: Locked<[String]>) {
    for warning in warnings.withLock({ $0 }) {
      StandardStream.error.write("warning: \(printable(warning))\n")
    }
  }

  static func run(
    _ words: [String], bundled: BundledSteps, model: Schema?, transforms: [MigrationTransform] = [],
    interruption: Interruption
  ) async -> Output {
    let words = unaliased(words)
    var line = Line(words)
    do {
      let arguments = try arguments(words)
      line.isQuiet = arguments.has("--quiet")
      if let output = said(of: arguments, line) { return output }
      line.name = arguments.positional.first ?? ""
      let command = try command(named: line.name)
      try check(arguments, of: command)
      let style = try style(arguments, words)
      let session = Session(
        arguments: arguments, bundled: bundled.transforming(by: transforms), model: model,
        transforms: transforms,
        standardError: { StandardStream.error.write(style.shown(error: printable($0)) + "\n") },
        // With `--json`, the one object contains the warnings.
        warnings: line.isJSON ? line.warnings : nil,
        interruption: interruption,
        rows: line.rows, command: line.name, offersCreation: command.offersCreation)
      try session.checkValues()
      let run: any Command.Type = arguments.has("--dry-run") ? PlanCommand.self : command
      line.name = run.name
      let report = try await session.placing(of: run) {
        do { return try await run.run(session) } catch {
          throw session.located(session.leadingOn(from: error, of: run), of: run)
        }
      }
      var output = Output(code: report.exitCode, text: line.text(of: report, style), loss: report.loss)
      if report.isWritten { tell(line.warnings) }
      output.errors =
        FinalMessage(
          failure: report.failure, isJSON: line.isJSON, wasStopped: interruption.signal != nil
        ).text ?? output.errors
      return output
    } catch is ReaderGone {
      return Output(code: .ok, isCut: true)
    } catch {
      return failed(error, on: line, interruption: interruption)
    }
  }

  /// What is known of a command line, before and after it is parsed.
  private struct Line {
    let isJSON: Bool
    var isQuiet = false
    let rows = RowSink()
    let warnings = Locked<[String]>([])
    /// The command's name. It is also found in a line that cannot be parsed.
    var name: String

    init(_ words: [String]) {
      isJSON = words.prefix { $0 != "--" }.contains("--json")
      name = words.first { word in commandNames.contains(word) } ?? ""
    }

    func text(of report: any Report, _ style: TextStyle) -> String {
      if report.isWritten { return "" }
      if isJSON { return printable(json: json(name, report, warnings: warnings.withLock { $0 })) }
      return isQuiet && !report.isData
        ? "" : style.shown(printable(report.description), isScreen: report.isScreen)
    }
  }

  /// Returns the output for a line that requests help or the version; nil for one with a command to run.
  private static func said(of arguments: Arguments, _ line: Line) -> Output? {
    let report: (name: String, report: any Report)
    if arguments.has("--version") {
      report = ("version", VersionReport())
    } else {
      let first = arguments.positional.first
      guard first == nil || first == "help" || arguments.has("--help") else { return nil }
      do {
        // A script that loses its arguments must not end with success.
        guard first != nil || arguments.has("--help") else {
          throw UsageError("A command is missing. See: \(ToolLine("--help"))")
        }
        let topics = arguments.positional.dropFirst(first == "help" ? 1 : 0)
        if first == "help", topics.count > 1 {
          throw UsageError(
            "help takes at most one command, not \(topics.count). See: \(ToolLine("help"))")
        }
        report = ("help", try help(of: topics.first))
      } catch {
        return failed(error, on: line)
      }
    }
    return Output(
      code: .ok,
      text: line.isJSON ? json(report.name, report.report, warnings: []) : report.report.description)
  }

  private static func failed(
    _ error: any Error, on line: Line, interruption: Interruption? = nil
  ) -> Output {
    let command = try? command(named: line.name)
    var (code, message) = (
      ExitCode(error),
      ErrorText.of(
        error, hasStore: command?.hasStore ?? true,
        takesImmutable: command?.options.contains { $0.name == Option.immutable.name } ?? false)
    )
    if [.notFound, .failed].contains(code), let lost = SystemRequirements.lostFolder {
      message += "\n" + lost
    }
    if let aftermath = interruption?.aftermath, let signal = interruption?.signal {
      code = ExitCode(signal: signal)
      // An error other than the one that the signal caused is added.
      let isOther = ![.interrupted, .failed].contains(ExitCode(error))
      message = "\(Interruption.said(signal)) \(aftermath.found())" + (isOther ? " (\(error))" : "")
    } else if let aftermath = interruption?.aftermath,
      [.failed, .noSpace].contains(code) || aftermath.hasParts
    {
      // The state of the store is added, because the error does not show it: the disk may have failed
      // before or after the last step, or each step was committed separately. The state is on a new line
      // when the message ends with a command line, which must stay usable as it is.
      let endsWithLine = message.split(separator: "\n").last?.hasPrefix("    ") == true
      message += (endsWithLine ? "\n" : [".", "?"].contains(message.last) ? " " : ". ") + aftermath.found()
    }
    guard line.isJSON, !line.rows.hasBegun else {
      // After rows, a JSON object would be taken for a part of them.
      if line.isJSON { tell(line.warnings) }
      return Output(code: code, errors: "store-migrate: \(message)")
    }
    let text = jsonError(
      line.name, code, message: message, history: (error as? ExplainedError)?.history,
      warnings: line.warnings.withLock { $0 })
    return Output(code: code, text: printable(json: text))
  }
}
