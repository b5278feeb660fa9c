// The entry point of the tool: finds the command, runs it, prints its report, and maps errors to exit
// codes. The help is in StoreMigrate+Help.swift.

import CipherSQLite
import Dispatch
import Foundation
public import ObjectVault

/// `store-migrate` as a library, so that an app can build its own tool, which contains its steps and
/// classes:
///
/// ```swift
/// @main struct Tool {
///   static func main() {
///     StoreMigrate.start(
///       embedded: AppMigrations.steps, model: AppModel.schema)
///   }
/// }
/// ```
/// Such a tool can compare the classes with the steps, and write the next step: `diff`,
/// `new NAME --from-model`.
public enum StoreMigrate {
  static let commands: [any Command.Type] = [
    StatusCommand.self, PlanCommand.self, HistoryCommand.self, InfoCommand.self, VerifyCommand.self,
    FetchCommand.self, CountCommand.self, LogCommand.self,
    CreateCommand.self, UpCommand.self, DownCommand.self, RedoCommand.self, RekeyCommand.self,
    UpgradeCipherCommand.self, BaselineCommand.self, RepairCommand.self, RestoreCommand.self,
    BackupCommand.self, EncryptCommand.self, ExportCommand.self, SlotsCommand.self,
    NewCommand.self, DiffCommand.self, LintCommand.self, SQLCommand.self, SchemaCommand.self,
    RebaseCommand.self,
    SquashCommand.self, EmbedCommand.self, CheckCommand.self,
  ]

  /// The names of all commands, in the order of the overview.
  package static var commandNames: [String] { commands.map { $0.name } }

  /// Returns the names of a command's options, including those that every command takes.
  package static func optionNames(of name: String) -> [String] {
    (commands.filter { $0.name == name }.flatMap { $0.options } + Option.common).distinct.map(\.name)
  }

  /// Returns the names of the values of a command's options, by the options' names. The options of its
  /// actions are included.
  package static func optionValues(of name: String) -> [String: String] {
    let options = commands.filter { $0.name == name }.flatMap { $0.options + $0.actions.flatMap(\.options) }
    return (options + Option.common).reduce(into: [:]) { values, option in
      if let value = option.value { values[option.name] = value }
    }
  }

  /// Returns the summary of a command; nil when there is no command of this name.
  package static func summary(of name: String) -> String? {
    commands.first { $0.name == name }.map { $0.summary }
  }

  /// The tool's version.
  public static let version = "0.1.0"

  /// Runs the tool with the process's arguments and ends the process; for a `main` that is not async.
  ///
  /// An async `main` starts threads before the first line of the program. This function first checks that
  /// the system provides them, and reports an error otherwise; prefer it.
  /// - Parameters:
  ///   - migrations: The steps to use without `--migrations`; nil reads `./Migrations`.
  ///   - model: The app's classes, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the
  ///     steps come from.
  ///   - appVersion: The app's version in histories, such as `4.2`; nil for the version of its bundle, if
  ///     it has one.
  public static func start(
    migrations: MigrationSet? = nil, model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) -> Never {
    begin(BundledSteps(migrations), model: model, transforms: transforms, appVersion)
  }

  /// Runs an app's tool with the steps of its `Embedded.swift` and ends the process; for a `main` that is
  /// not async.
  ///
  /// Steps that cannot be read are reported only by the commands that need them. Commands that work on a
  /// folder, such as `embed` and `check`, run without them.
  /// - Parameters:
  ///   - steps: The steps to use without `--migrations`.
  ///   - model: The app's classes, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the
  ///     steps come from.
  ///   - appVersion: The app's version in histories, such as `4.2`; nil for the version of its bundle, if
  ///     it has one.
  public static func start(
    embedded steps: [MigrationSet.Embedded], model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) -> Never {
    begin(BundledSteps(embedded: steps), model: model, transforms: transforms, appVersion)
  }

  /// Runs the tool with the process's arguments and ends the process; for an async `main`. Prefer
  /// ``start(migrations:model:transforms:appVersion:)``.
  ///
  /// - Parameters:
  ///   - migrations: The steps to use without `--migrations`; nil reads `./Migrations`.
  ///   - model: The app's classes, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the
  ///     steps come from.
  ///   - appVersion: The app's version in histories, such as `4.2`; nil for the version of its bundle, if
  ///     it has one.
  public static func main(
    migrations: MigrationSet? = nil, model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) async -> Never {
    prepare()
    await run(BundledSteps(migrations), model: model, transforms: transforms, appVersion)
  }

  /// Runs an app's tool with the steps of its `Embedded.swift` and ends the process; for an async `main`.
  /// Prefer ``start(embedded:model:transforms:appVersion:)``.
  ///
  /// - Parameters:
  ///   - steps: The steps to use without `--migrations`.
  ///   - model: The app's classes, for `diff` and `new --from-model`.
  ///   - transforms: The functions that steps call by `transform swift` and `using swift`, wherever the
  ///     steps come from.
  ///   - appVersion: The app's version in histories, such as `4.2`; nil for the version of its bundle, if
  ///     it has one.
  public static func main(
    embedded steps: [MigrationSet.Embedded], model: Schema? = nil, transforms: [MigrationTransform] = [],
    appVersion: String? = nil
  ) async -> Never {
    prepare()
    await run(BundledSteps(embedded: steps), model: model, transforms: transforms, appVersion)
  }

  private static func begin(
    _ bundled: BundledSteps, model: Schema?, transforms: [MigrationTransform], _ appVersion: String?
  ) -> Never {
    prepare()
    // `run` ends the process.
    Task { await run(bundled, model: model, transforms: transforms, appVersion) }
    dispatchMain()
  }

  /// Prepares the process, before everything else. Ends it when no command could run.
  private static func prepare() {
    StandardStream.prepare()
    do { try SystemRequirements.require() } catch {
      var output = Output(code: ExitCode(error), errors: "store-migrate: \(error)")
      exit(write(&output).rawValue)
    }
  }

  private static func run(
    _ bundled: BundledSteps, model: Schema?, transforms: [MigrationTransform], _ appVersion: String?
  ) async -> Never {
    let interruption = Interruption()
    interruption.listen()
    // An app's own tool has the version of the app.
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

  /// Writes the output of a run.
  /// - Returns: The exit code: 1 instead of 0 when the report could not be written. Progress and notes
  ///   that could not be written to standard error change nothing.
  private static func write(_ output: inout Output) -> ExitCode {
    if !output.text.isEmpty, !StandardStream.output.write(output.text + "\n") {
      let reason = systemText(StandardStream.output.failure ?? EIO)
      output.errors +=
        (output.errors.isEmpty ? "" : "\n")
        + "store-migrate: The command is complete, but its report could not be written to standard output "
        + "(\(reason))." + (output.loss.map { " \($0)" } ?? "")
    }
    if !output.errors.isEmpty { StandardStream.error.write(printable(output.errors) + "\n") }
    let isWhole = output.isCut || StandardStream.output.isWhole
    return output.code == .ok && !isWhole ? .failed : output.code
  }

  /// The output of a run, and its exit code.
  struct Output: Sendable {
    var code: ExitCode
    var text = ""
    var errors = ""
    /// The message for the case that `text` cannot be written.
    var loss: String?
    /// Whether the reader closed the output early.
    var isCut = false
  }

  /// Returns the words of a command line, with an alias replaced by the command's own name. The line is
  /// parsed for that, because the value of an option before the command may equal an alias.
  static func unaliased(_ words: [String]) -> [String] {
    guard let arguments = try? Arguments(words, known: everyOption), let place = arguments.firstPlace,
      let command = commands.first(where: { $0.aliases.contains(words[place]) })
    else { return words }
    var words = words
    words[place] = command.name
    return words
  }

  /// Checks the arguments that are paths.
  /// - Throws: ``UsageError`` for an empty path, and for `-`.
  private static func checkPaths(_ arguments: Arguments, of command: any Command.Type) throws {
    for (name, word) in zip(command.positionalNames.split(separator: " "), arguments.positional.dropFirst())
    where ["STORE", "FILE", "BACKUP", "PLAINFILE", "KEYFILE"].contains(name) {
      guard !word.isEmpty else { throw UsageError("\(command.name): the path of \(name) is empty.") }
      guard word != "-" else {
        throw UsageError(
          "\(command.name): \(name) must be a file, not a pipe. If the file has the name -, write ./-."
        )
      }
    }
  }

  static func command(named name: String) throws -> any Command.Type {
    if let command = commands.first(where: { $0.name == name || $0.aliases.contains(name) }) {
      return command
    }
    let names = commands.flatMap { [$0.name] + $0.aliases } + ["help"]
    throw UsageError(
      "Unknown command \"\(name)\".\(didYouMean(name, among: names)) See: \(ToolLine("--help"))"
    )
  }

  // MARK: Options

  /// Returns the style of texts on standard output.
  /// - Throws: ``UsageError`` for an unknown value of `--color`.
  static func style(_ arguments: Arguments, _ words: [String]) throws -> TextStyle {
    let unsaid = arguments.has("--no-color") ? TextStyle.Coloring.never : .auto
    let word = arguments.value("--color") ?? unsaid.rawValue
    guard let coloring = TextStyle.Coloring(rawValue: word) else {
      let words = TextStyle.Coloring.allCases.map(\.rawValue)
      throw UsageError(
        "--color takes \(words.joined(separator: ", ")), not \(word).\(didYouMean(word, among: words))")
    }
    return TextStyle(coloring, isPlain: arguments.has("--plain"), descriptor: 1, words: words)
  }

  /// The option `--version`. It belongs to no command: with it, the tool prints its version and runs no
  /// command.
  static let versionOption = Option("--version", in: .common, "show the tool's version and the engine's")

  static var everyOption: [Option] {
    (commands.flatMap { $0.options } + Option.common + [versionOption]).distinct
  }

  static func arguments(_ words: [String]) throws -> Arguments {
    do { return try Arguments(words, known: everyOption) } catch let error as UnknownOption {
      let named = commands.first { command in words.first { !$0.hasPrefix("-") } == command.name }
      throw error.usageError(
        among: named.map { $0.options + Option.common } ?? everyOption,
        help: named.map { ToolLine.help($0.name) } ?? "See: \(ToolLine("--help"))")
    }
  }

  /// Checks that options and arguments belong to the command.
  /// - Throws: ``UsageError`` for an option of other commands or of other actions of the command, and for
  ///   a wrong number or form of arguments.
  static func check(_ arguments: Arguments, of command: any Command.Type) throws {
    try checkOptions(arguments, of: command)
    let given = arguments.positional.count - 1
    guard given == command.positionalCount || command.positionalCount < 0 else {
      throw UsageError(
        "\(command.name) takes \(command.positionalCount == 0 ? "no arguments" : command.positionalNames), "
          + "but got \(counted(given, "argument")).\(taken(arguments, by: command)) "
          + ToolLine.help(command.name))
    }
    try checkPaths(arguments, of: command)
  }

  /// Returns a hint when an argument is missing because an option has taken it as its optional value;
  /// empty otherwise.
  private static func taken(_ arguments: Arguments, by command: any Command.Type) -> String {
    guard arguments.positional.count <= command.positionalCount,
      let option = command.options.first(where: { $0.isValueOptional && arguments.value($0.name) != nil }),
      let value = arguments.value(option.name)
    else { return "" }
    return " \"\(value)\" after \(option.name) is taken as its value: write it before \(option.name)."
  }

  private static func checkOptions(_ arguments: Arguments, of command: any Command.Type) throws {
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
      "\(foreign) is not an option of \(name). These have it: \(others.joined(separator: ", "))."
        + "\(didYouMean(foreign, among: own)) \(ToolLine.help(command.name))")
  }
}
