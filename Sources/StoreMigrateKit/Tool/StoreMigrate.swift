// The tool: finds the command, runs it, prints its report, maps errors to exit codes. What it says of itself is in
// StoreMigrate+Help.

import CipherSQLite
import Foundation
public import ObjectVault

/// `store-migrate` as a library, so that an app can build its own, with its steps and classes inside:
///
/// ```swift
/// @main struct Tool {
///   static func main() async {
///     await StoreMigrate.main(
///       embedded: AppMigrations.steps, model: AppModel.schema)
///   }
/// }
/// ```
/// Such a tool can compare the classes with the steps, and write the next step: `diff`, `new NAME --from-model`.
public enum StoreMigrate {
  static let commands: [any Command.Type] = [
    StatusCommand.self, PlanCommand.self, HistoryCommand.self, InfoCommand.self, VerifyCommand.self,
    FetchCommand.self,
    CountCommand.self,
    CreateCommand.self, UpCommand.self, DownCommand.self, RedoCommand.self, RekeyCommand.self,
    UpgradeCipherCommand.self, BaselineCommand.self, RepairCommand.self, RestoreCommand.self,
    BackupCommand.self, EncryptCommand.self, ExportCommand.self, SlotsCommand.self,
    NewCommand.self, DiffCommand.self, LintCommand.self, SQLCommand.self, SchemaCommand.self,
    RebaseCommand.self,
    SquashCommand.self, EmbedCommand.self, CheckCommand.self,
  ]

  /// The names of all commands, in the order of the overview.
  package static var commandNames: [String] { commands.map { $0.name } }

  /// The names of a command's options, those of every command among them.
  package static func optionNames(of name: String) -> [String] {
    (commands.filter { $0.name == name }.flatMap { $0.options } + Option.common).distinct.map(\.name)
  }

  /// What a command is for, in a few words; nil where there is none of this name.
  package static func summary(of name: String) -> String? {
    commands.first { $0.name == name }.map { $0.summary }
  }

  /// The tool's version.
  public static let version = "0.1.0"

  /// Runs the tool with the process's arguments and ends the process.
  ///
  /// - Parameters:
  ///   - migrations: Steps to use where `--migrations` is not given; nil reads `./Migrations`.
  ///   - model: The classes of the app, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the steps come from.
  ///   - appVersion: What histories say of the app's version, such as `4.2`; nil for that of its bundle, where it has one.
  public static func main(
    migrations: MigrationSet? = nil, model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) async -> Never {
    await main(BundledSteps(migrations), model: model, transforms: transforms, appVersion)
  }

  /// Runs the tool of an app with the steps of its `Embedded.swift`.
  ///
  /// Steps that cannot be read are told by the commands that need them. Those that work on a folder, `embed` and `check`
  /// among them, do without.
  /// - Parameters:
  ///   - steps: Steps to use where `--migrations` is not given.
  ///   - model: The classes of the app, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the steps come from.
  ///   - appVersion: What histories say of the app's version, such as `4.2`; nil for that of its bundle, where it has one.
  public static func main(
    embedded steps: [MigrationSet.Embedded], model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) async -> Never {
    await main(BundledSteps(embedded: steps), model: model, transforms: transforms, appVersion)
  }

  private static func main(
    _ bundled: BundledSteps, model: Schema?, transforms: [MigrationTransform], _ appVersion: String?
  ) async -> Never {
    StandardStream.prepare()
    let interruption = Interruption()
    interruption.listen()
    // An app's own tool is of the app's version.
    if let appVersion {
      Store.setAppVersion(appVersion)
    } else if !bundled.areThere, model == nil {
      Store.setAppVersion(version)
    }
    var output: Output
    do {
      output = await run(
        try Arguments.ofProcess(), bundled: bundled, model: model, transforms: transforms,
        interruption: interruption)
    } catch { output = Output(code: ExitCode(error), errors: "store-migrate: \(error)") }
    interruption.end()
    exit(write(&output).rawValue)
  }

  /// Writes what a run has to say.
  /// - Returns: The exit code: 1 in the place of 0 when something could not be written.
  private static func write(_ output: inout Output) -> ExitCode {
    if !output.text.isEmpty, !StandardStream.output.write(output.text + "\n") {
      let reason = systemText(StandardStream.output.failure ?? EIO)
      output.errors +=
        (output.errors.isEmpty ? "" : "\n")
        + "store-migrate: The command was run to its end, but its report could not be written to standard output "
        + "(\(reason))." + (output.loss.map { " \($0)" } ?? "")
    }
    if !output.errors.isEmpty { StandardStream.error.write(printable(output.errors) + "\n") }
    let isWhole = output.isCut || StandardStream.output.isWhole
    return output.code == .ok && !(isWhole && StandardStream.error.isWhole) ? .failed : output.code
  }

  /// What a run printed, and how it ended.
  struct Output: Sendable {
    var code: ExitCode
    var text = ""
    var errors = ""
    /// What has to be said when `text` could not be written.
    var loss: String?
    /// Whether whoever read the output had enough of it.
    var isCut = false
  }

  /// Writes the warnings of a report that has no place for them.
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
    let isJSON = words.prefix { $0 != "--" }.contains("--json")
    let (rows, warnings) = (RowSink(), Locked<[String]>([]))
    // Of a line that cannot be read, too.
    var name = words.first { word in commandNames.contains(word) } ?? ""
    do {
      let arguments = try arguments(words)
      if arguments.has("--version") {
        return Output(code: .ok, text: "store-migrate \(version), \(Engine.current)")
      }
      let first = arguments.positional.first
      if first == nil || first == "help" || arguments.has("--help") { return help(arguments, first) }
      name = first ?? ""
      let command = try command(named: name)
      try check(arguments, of: command)
      let given = arguments.positional.count - 1
      guard given == command.positionalCount || command.positionalCount < 0 else {
        throw UsageError(
          "\(name) takes \(command.positionalCount == 0 ? "no argument" : command.positionalNames), "
            + "\(given) given. See: store-migrate help \(name)")
      }
      try checkPaths(arguments, of: command)
      let style = try style(arguments, words)
      let session = Session(
        arguments: arguments, bundled: bundled.transforming(by: transforms), model: model,
        transforms: transforms,
        standardError: { StandardStream.error.write(style.shown(error: printable($0)) + "\n") },
        // In the one object of a run that prints one.
        warnings: isJSON ? warnings : nil,
        interruption: interruption,
        rows: rows, command: name)
      // Before anything is opened: a mistyped number is a mistake of the line and not of the store.
      _ = try session.lockTimeout()
      _ = (try session.profile(), try session.newProfile())
      _ = (try session.allowances(), try session.commitsEachStep())
      let run: any Command.Type = arguments.has("--dry-run") ? PlanCommand.self : command
      name = run.name
      let report = try await session.placing(of: run) { try await run.run(session) }
      let text =
        report.isWritten
        ? ""
        : isJSON
          ? printable(json: json(name, report, warnings.withLock { $0 }))
          : arguments.has("--quiet")
            ? "" : style.shown(printable(report.description), isScreen: report.isScreen)
      if report.isWritten { tell(warnings) }
      var output = Output(code: report.exitCode, text: text, loss: report.loss)
      if interruption.signal != nil {
        output.errors = "store-migrate: It was done before it could be stopped."
      }
      return output
    } catch is ReaderGone {
      return Output(code: .ok, isCut: true)
    } catch {
      let hasStore = (try? command(named: name)).map { $0.group != .write } ?? true
      var (code, message) = (ExitCode(error), ErrorText.of(error, hasStore: hasStore))
      if let aftermath = interruption.aftermath, let signal = interruption.signal {
        code = ExitCode(signal: signal)
        // Another error than the one that the signal made is told besides.
        let isOther = ![.interrupted, .failed].contains(ExitCode(error))
        message = "\(Interruption.said(signal)) \(aftermath.found())" + (isOther ? " (\(error))" : "")
      } else if let aftermath = interruption.aftermath,
        [.failed, .noSpace].contains(code) || aftermath.hasParts
      {
        // The disk may have failed before the last step or after it; or each step was committed by itself.
        message += ([".", "?"].contains(message.last) ? " " : ". ") + aftermath.found()
      }
      // Behind rows an object of JSON would be a part of theirs.
      if isJSON, rows.hasBegun { tell(warnings) }
      return isJSON && !rows.hasBegun
        ? Output(
          code: code,
          text: printable(
            json: jsonError(
              name, code, message, (error as? ExplainedError)?.history, warnings.withLock { $0 })))
        : Output(code: code, errors: "store-migrate: \(message)")
    }
  }

  /// A line in which a command has its own name. What stands in front of a command is options, and a value of theirs may be
  /// called like one.
  private static func unaliased(_ words: [String]) -> [String] {
    guard let arguments = try? Arguments(words, known: everyOption), let place = arguments.firstPlace,
      let command = commands.first(where: { $0.aliases.contains(words[place]) })
    else { return words }
    var words = words
    words[place] = command.name
    return words
  }

  /// - Throws: ``UsageError`` for a path that is none.
  private static func checkPaths(_ arguments: Arguments, of command: any Command.Type) throws {
    for (name, word) in zip(command.positionalNames.split(separator: " "), arguments.positional.dropFirst())
    where ["STORE", "FILE", "BACKUP", "PLAINFILE", "KEYFILE"].contains(name) {
      guard !word.isEmpty else { throw UsageError("\(command.name): the path of \(name) is empty.") }
      guard word != "-" else {
        throw UsageError(
          "\(command.name): \(name) is a file, and cannot come or go through a pipe. One that is called - is ./-."
        )
      }
    }
  }

  static func command(named name: String) throws -> any Command.Type {
    if let command = commands.first(where: { $0.name == name || $0.aliases.contains(name) }) {
      return command
    }
    let names = commands.flatMap { [$0.name] + $0.aliases }
    throw UsageError(
      "\"\(name)\" is no command.\(didYouMean(name, among: names)) See: store-migrate --help"
    )
  }

  // MARK: Options

  /// How texts on standard output look.
  private static func style(_ arguments: Arguments, _ words: [String]) throws -> TextStyle {
    let unsaid = arguments.has("--no-color") ? TextStyle.Coloring.never : .auto
    let word = arguments.value("--color") ?? unsaid.rawValue
    guard let coloring = TextStyle.Coloring(rawValue: word) else {
      let words = TextStyle.Coloring.allCases.map(\.rawValue)
      throw UsageError(
        "--color takes \(words.joined(separator: ", ")), not \(word).\(didYouMean(word, among: words))")
    }
    return TextStyle(coloring, isPlain: arguments.has("--plain"), descriptor: 1, words: words)
  }

  /// Of no command: the first one that is given decides.
  static let versionOption = Option("--version", in: .common, "the tool's version and the engine's")

  static var everyOption: [Option] {
    (commands.flatMap { $0.options } + Option.common + [versionOption]).distinct
  }

  private static func arguments(_ words: [String]) throws -> Arguments {
    do { return try Arguments(words, known: everyOption) } catch let error as UnknownOption {
      let named = commands.first { command in words.first { !$0.hasPrefix("-") } == command.name }
      throw error.usageError(among: named.map { $0.options + Option.common } ?? everyOption)
    }
  }

  /// - Throws: ``UsageError`` for an option of other commands, or of other actions of the command.
  private static func check(_ arguments: Arguments, of command: any Command.Type) throws {
    let action = command.action(arguments)
    let own = ((action?.options ?? command.options) + Option.common).map(\.name)
    guard let foreign = arguments.given.first(where: { !own.contains($0) }) else { return }
    let takes = { (options: [Option]) in options.contains { $0.name == foreign } }
    let others =
      takes(command.options)
      ? command.actions.filter { takes($0.options) }.map { "\(command.name) \($0.name)" }
      : commands.filter { takes($0.options) }.map { $0.name }
    let name = command.name + (action.map { " \($0.name)" } ?? "")
    throw UsageError(
      "\(foreign) is no option of \(name), but of \(others.joined(separator: ", "))."
        + "\(didYouMean(foreign, among: own)) See: store-migrate help \(command.name)")
  }
}
