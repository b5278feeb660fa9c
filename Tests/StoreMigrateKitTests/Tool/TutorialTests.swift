// The page "Changing your model": its commands are run in order, and print what the page shows.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow)) struct Tutorial {
  static let path = "Sources/StoreMigrateKit/Documentation.docc/changing-your-model.md"

  let folder: TemporaryFolder
  /// The app, under the name that the reader calls, as a history has the name of the program that made the
  /// store.
  private let app: String
  private let tools: TemporaryFolder

  init() throws {
    (folder, tools) = (try TemporaryFolder(), try TemporaryFolder())
    app = tools.path("notes")
    try FileManager.default.createSymbolicLink(
      atPath: app, withDestinationPath: builtExecutable("notes-migrate"))
  }

  /// Runs a line of the page in the folder of the app.
  private func run(_ line: String, version: Int) throws -> String {
    var words: [String] = []
    for (index, part) in line.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
      words += index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
    }
    let program = words.removeFirst()
    let (path, more): (String, [String]) =
      switch program {
      case "app-migrate": (builtExecutable("notes-migrate"), ["--no-input"])
      case "store-migrate": (builtExecutable("store-migrate"), ["--no-input"])
      case "notes": (app, [])
      default: ("/bin/\(program)", [])
      }
    let result = try runTool(
      path, words + more,
      environment: ["NOTES_VERSION": "\(version)", "STORE_MIGRATE_KEY": "correct horse", "COLUMNS": "78"],
      directory: folder.url.path)
    let exit = result.status == 0 ? "" : "[exit \(result.status)]\n"
    let output = (result.output + result.errors).replacing(folder.url.path + "/", with: "")
    // The reader's tool has another name than that of the test.
    return output.replacing(folder.url.resolvingSymlinksInPath().path + "/", with: "")
      .replacing("notes-migrate", with: "app-migrate") + exit
  }

  @Test func `each command of the tutorial prints what its page shows`() throws {
    let url = packageRoot.appendingPathComponent(Self.path)
    let lines = try String(contentsOf: url, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    var (made, block, language, version): ([String], [String], String?, Int) = ([], [], nil, 1)
    var commands = 0
    for line in lines {
      if let heading = line.wholeMatch(of: #/## Version (\d).*/#) { version = Int(heading.1) ?? 0 }
      guard line.hasPrefix("```") else {
        if language == nil { made.append(line) } else { block.append(line) }
        continue
      }
      guard let open = language else {
        (language, block) = (String(line.dropFirst(3)), [])
        made.append(line)
        continue
      }
      if open == "console" {
        let former = block
        block = try block.filter { $0.hasPrefix("$ ") }.flatMap { command -> [String] in
          commands += 1
          let output = try run(String(command.dropFirst(2)), version: version)
          return [command]
            + output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().flatMap(folded)
        }
        // Times and sizes stay as they were written, so that the page changes only with its content.
        if compared(former) == compared(block) { block = former }
      } else if open == "text", let name = block.first?.wholeMatch(of: #/# (Migrations/.+)/#) {
        let text = block.dropFirst().joined(separator: "\n") + "\n"
        try Data(text.utf8).write(to: folder.url.appendingPathComponent(String(name.1)))
      } else if open == "swift", block.first?.hasPrefix("public final class ") == true {
        let source = try String(
          contentsOf: packageRoot.appendingPathComponent("Tests/NotesMigrate/Version\(version).swift"),
          encoding: .utf8)
        // In the sources they are in one module, and not public.
        let code = block.map { $0.isEmpty ? "" : "  " + $0.replacing("public ", with: "") }
          .joined(separator: "\n")
        #expect(source.contains(code), "the classes of version \(version) differ")
      }
      made += block + [line]
      language = nil
    }
    #expect(commands > 20)
    if Golden.isWriting {
      return try Data(made.joined(separator: "\n").utf8).write(to: url)
    }
    let first = zip(made, lines).enumerated().first { $0.element.0 != $0.element.1 }
    #expect(first == nil, "line \(first.map { $0.offset + 1 } ?? 0): \(first?.element.0 ?? "")")
    #expect(made.count == lines.count, "run make golden and review the difference")
  }

  /// Folds a line into parts that a page shows without scrolling.
  private func folded(_ line: Substring) -> [String] {
    var (rest, lines): (Substring, [String]) = (line, [])
    while rest.count > 78, let space = rest.prefix(79).lastIndex(of: " "),
      rest[..<space].count > 20
    {
      lines.append(String(rest[..<space]))
      rest = "    " + rest[rest.index(after: space)...]
    }
    return lines + [String(rest)]
  }

  /// Lines without what differs from run to run. SQLCipher 4 has other SQL, and copies fewer tables: there
  /// only the exit code of each command is compared.
  private func compared(_ lines: [String]) -> String {
    guard Engine.current.cipherMajor < 4 else {
      return lines.filter { $0.hasPrefix("$ ") || $0.hasPrefix("[exit") }.joined(separator: "\n")
    }
    return normalized(lines.joined(separator: "\n"), folder: folder.url.path)
      .replacing(#/ +/#, with: " ").replacing(#/\b[0-9a-f]{8,64}\b/#, with: "HASH")
  }
}
