// Writing steps: with an app's own tool, linted, released, and after a merge of two branches.

import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct AuthoringCommands {
  let folder: TemporaryFolder
  var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    for step in try MigrationSet.embedded(MicroblogMigrations.steps).steps {
      try Data(step.text.utf8).write(to: URL(fileURLWithPath: "\(steps)/\(step.fileName)"))
    }
  }

  private func run(_ words: String..., tool: String = "microblog-migrate") throws -> ToolResult {
    try runTool(builtExecutable(tool), words + ["-m", steps, "--no-input"], directory: folder.url.path)
  }

  private func write(_ name: String, operations: String, head: String = "") throws {
    try Data("format: 1\n\(head)\n[up]\n\(operations)\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/\(name).migration"))
  }

  @Test(arguments: [
    ("Split Name!", "0007_split_name"), ("Çà 2", "0007_çà_2"), ("北京--tags", "0007_北京_tags"),
  ])
  func `new names a step in small letters and digits of any script, as documented`(
    _ name: String, _ file: String
  ) throws {
    let made = try run("new", name)
    #expect(made.status == 0 && made.output.contains("\(file).migration"), "\(made)")
    #expect(FileManager.default.fileExists(atPath: "\(steps)/\(file).migration"))
    let page = try String(
      contentsOf: packageRoot.appendingPathComponent(
        "Sources/ObjectVault/Documentation.docc/the-migration-file.md"), encoding: .utf8)
    #expect(page.contains("`split_name`, or `çà_2` for `Çà 2`"))
  }

  @Test func `new --from-model writes a step to the classes, and refuses a possible renaming`() throws {
    try write(
      "0007_other",
      operations: "rename attribute User.name -> label\nadd attribute User.shoeSize int optional",
      head: "note: x\n")
    let found = try run("diff")
    #expect(found.status == 2 && found.output.contains("drop attribute User.shoeSize"), "\(found)")
    let doubtful = try run("new", "back", "--from-model")
    #expect(doubtful.status == 5, "\(doubtful)")
    #expect(
      doubtful.errors.contains("--rename User.label=name")
        && !FileManager.default.fileExists(atPath: "\(steps)/0008_back.migration"))
    let told = try run("new", "back", "--from-model", "--rename", "User.label=name")
    #expect(told.status == 0 && told.output.contains("rename attribute User.label -> name"), "\(told)")
    #expect(told.output.contains("LOSES User.shoeSize"))
    // The loss is a comment in the file, to be allowed by a person.
    let text = try String(contentsOfFile: "\(steps)/0008_back.migration", encoding: .utf8)
    #expect(text.contains("# allow: lossy:User.shoeSize"))
    #expect(try run("lint").status == 2)
    try Data(text.replacing("# allow:", with: "allow:").utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0008_back.migration"))
    #expect(try !run("lint").output.contains("L102"))
    let same = try run("diff")
    #expect(same.status == 0 && same.output == "The steps match the classes.\n", "\(same)")
    #expect(try run("new", "more", "--from-model").status == 1)
  }

  @Test func `each possible renaming is confirmed or denied by an option of its own`() throws {
    try write(
      "0007_other", operations: "rename attribute User.name -> label\nrename attribute Status.text -> body")
    let doubtful = try run("new", "back", "--from-model")
    #expect(doubtful.status == 5, "\(doubtful)")
    #expect(
      doubtful.errors.contains("  --rename User.label=name, or --no-rename User.label\n"), "\(doubtful)")
    #expect(
      doubtful.errors.contains("  --rename Status.body=text, or --no-rename Status.body\n"), "\(doubtful)")
    let half = try run("new", "back", "--from-model", "--no-rename", "User.label")
    #expect(half.status == 5 && half.errors.contains("--no-rename Status.body"), "\(half)")
    #expect(!half.errors.contains("User.label"), "\(half)")
    let diff = try run("diff", "--no-rename", "User.label")
    #expect(
      diff.output.contains("May be a renaming: --rename Status.body=text, or --no-rename Status.body\n"))
    #expect(diff.output.contains("new NAME --from-model --no-rename User.label"), "\(diff)")
    let told = try run(
      "new", "back", "--from-model", "--no-rename", "User.label", "--no-rename=Status.body")
    #expect(told.status == 0 && told.output.contains("drop attribute User.label"), "\(told)")
    #expect(told.output.contains("add attribute Status.text"), "\(told)")
  }

  @Test(
    arguments: [
      (["new", "x", "--from-model", "--rename", "nonsense"], 64, "not \"nonsense\""),
      (["new", "x", "--rename", "User.a=b"], 64, "need --from-model"),
      (["diff", "--rename", "name=city"], 64, "--rename User.name=city"),
      (["new", "x", "--from-model", "--rename", "name=city"], 64, "--rename User.name=city"),
      (["diff", "--no-rename", "User.nmae"], 64, "--no-rename User.nmae: no removal with this name"),
      (["new", "x", "--no-rename"], 64, "need --from-model"),
      (["new", "--from-model", "--no-rename", "x"], 64, "\"x\" after --no-rename"),
      (["diff", "--rename", "nothing=city"], 64, "no entity \"nothing\""),
      (["diff", "--rename", "User.nmae=x"], 64, "User has no property \"nmae\""),
      (["diff", "--rename", "User.city=name"], 64, "the steps already have User.name"),
      (["sql", "--from", "9"], 64, "the steps are 1 to 6"), (["sql", "--engine", "3"], 64, "3.15.2"),
      (["sql", "--from", "0"], 64, "the steps are 1 to 6"), (["rebase"], 64, "Give the files"),
      (["lint", "--ignore", "L10"], 64, "not a code"),
      (["embed", "--released", " "], 64, "name of a release"),
    ] as [([String], Int32, String)])
  func `invalid arguments are refused with the reason, and nothing is written`(
    _ words: [String], _ code: Int32, _ text: String
  ) throws {
    let before = try FileManager.default.contentsOfDirectory(atPath: steps).sorted()
    let result = try runTool(
      builtExecutable("microblog-migrate"), words + ["-m", steps, "--no-input"], directory: folder.url.path)
    #expect(result.status == code && result.errors.contains(text), "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: steps).sorted() == before)
  }

  @Test func `an edit of a released step is reported, and each new lock keeps the release`() throws {
    #expect(try run("embed", "--released", "4.1").status == 0)
    try write("0007_more", operations: "add attribute User.shoeSize int optional")
    #expect(try run("embed").status == 0)
    let lock = try String(contentsOfFile: "\(steps)/migrations.lock", encoding: .utf8)
    let lines = lock.split(separator: "\n")
    #expect(lines.count == 9 && lines[7] == "released: 4.1" && lines[8].hasPrefix("0007 "))
    #expect(try run("check", tool: "store-migrate").status == 0)
    #expect(
      try run("embed", "--released", "4.1").errors.contains(
        "4.1 was already released with the steps up to 0006"))
    // Only steps that are not released are linted.
    let asked = try run("lint", "--ignore", "L302")
    #expect(asked.output.hasPrefix("1 step;"))
    #expect(try run("lint", "--all", "--ignore", "L302").output != asked.output)
    // A renaming in a class that a step has done already is reported whatever is released. It is a note.
    let hint = try run("lint")
    #expect(hint.status == 0 && hint.output.contains("L302 (note) rename attribute User.town -> city"))
    let file = "\(steps)/0006_places.migration"
    let text = try String(contentsOfFile: file, encoding: .utf8)
    try Data(text.replacing("attribute kind string", with: "attribute kind string optional").utf8).write(
      to: URL(fileURLWithPath: file))
    let check = try run("check")
    #expect(check.status == 2 && check.output.contains("edited after it was released with 4.1"), "\(check)")
    let linted = try run("lint")
    #expect(linted.status == 2 && linted.output.contains("0006_places.migration: L601 was released with 4.1"))
    #expect(try run("lint", "--ignore", "L601").status == 0)
    // The command that would hide the edit is not suggested, and changes nothing.
    #expect(!check.output.contains("Run store-migrate embed"))
    let embedded = try run("embed")
    #expect(embedded.status == 3 && embedded.errors.contains("Restore it"), "\(embedded)")
    #expect(try String(contentsOfFile: "\(steps)/migrations.lock", encoding: .utf8) == lock)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    #expect(try run("check", tool: "store-migrate").status == 0)
    try write("0006_mine", operations: "add attribute User.mine int optional")
    let theirs = try run("rebase", "0006_places.migration")
    #expect(theirs.status == 5 && theirs.errors.contains("was released with 4.1"), "\(theirs)")
    try FileManager.default.removeItem(atPath: "\(steps)/0006_mine.migration")
    let moved = try run("rebase", "0006_places.migration")
    #expect(moved.status == 5 && moved.errors.contains("was released with 4.1"), "\(moved)")
  }

  @Test func `check reports two steps of one number, and rebase renumbers one of them`() throws {
    try write("0007_theirs", operations: "add attribute User.one int optional")
    #expect(try run("embed").status == 0)
    try write("0007_ours", operations: "add attribute User.two int optional")
    try write("0008_ours_too", operations: "rename attribute User.two -> three")
    // As git leaves the file.
    let lock = URL(fileURLWithPath: "\(steps)/migrations.lock")
    let text = try String(contentsOf: lock, encoding: .utf8)
    try Data((text + "<<<<<<< HEAD\n0007 x\n=======\n0007 y\n>>>>>>> branch\n").utf8).write(to: lock)
    let check = try run("check")
    #expect(
      check.status == 3 && check.errors.contains("microblog-migrate rebase 0007_ours.migration"), "\(check)")
    let result = try run("rebase", "0007_ours.migration", "\(steps)/0008_ours_too.migration")
    #expect(
      result.status == 0 && result.output.contains("0007_ours.migration is now 0008_ours.migration"),
      "\(result)")
    #expect(
      try MigrationSet.directory(URL(fileURLWithPath: steps)).steps.suffix(2).map(\.name) == [
        "ours", "ours_too",
      ])
    #expect(try run("check", tool: "store-migrate").status == 0)
  }

  @Test func `rebase moves two steps after two of another branch by the lines that it prints`() throws {
    try write("0007_theirs", operations: "add attribute User.one int optional")
    try write("0008_theirs_too", operations: "rename attribute User.one -> uno")
    try write("0007_ours", operations: "add attribute User.two int optional")
    try write("0008_ours_too", operations: "rename attribute User.two -> three")
    func lines(_ result: ToolResult) -> [[String]] {
      result.errors.split(separator: "\n").filter { $0.contains("microblog-migrate rebase ") }.map {
        $0.split(separator: " ").dropFirst().map(String.init)
      }
    }
    let check = try run("check")
    #expect(
      check.status == 3
        && check.errors.contains("0008, too: 0008_ours_too.migration, 0008_theirs_too.migration"),
      "\(check)")
    let first = try #require(lines(check).first { $0[1] == "0007_ours.migration" })
    let half = try runTool(builtExecutable("microblog-migrate"), first, directory: folder.url.path)
    #expect(half.status == 3 && half.errors.contains("No file was renamed."), "\(half)")
    let whole = try #require(lines(half).first { $0.contains("0008_ours_too.migration") }, "\(half)")
    let done = try runTool(builtExecutable("microblog-migrate"), whole, directory: folder.url.path)
    #expect(done.status == 0, "\(done)")
    #expect(
      try MigrationSet.directory(URL(fileURLWithPath: steps)).steps.suffix(4).map(\.name) == [
        "theirs", "theirs_too", "ours", "ours_too",
      ])
    // Now the second step first.
    try FileManager.default.moveItem(
      atPath: "\(steps)/0009_ours.migration", toPath: "\(steps)/0007_ours.migration")
    try FileManager.default.moveItem(
      atPath: "\(steps)/0010_ours_too.migration", toPath: "\(steps)/0008_ours_too.migration")
    let late = try run("rebase", "0008_ours_too.migration")
    #expect(
      lines(late).contains {
        $0.dropFirst().prefix(2) == ["0007_ours.migration", "0008_ours_too.migration"]
      }, "\(late)")
  }

  @Test func `rebase leaves a step in place that does not fit after the other branch`() throws {
    try write("0007_theirs", operations: "drop attribute User.city", head: "allow: lossy:User.city\n")
    try write("0007_ours", operations: "add index User(city)")
    let before = try FileManager.default.contentsOfDirectory(atPath: steps).sorted()
    let result = try run("rebase", "0007_ours.migration")
    #expect(result.status != 0 && (result.errors.contains("city")), "\(result)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: steps).sorted() == before)
  }

  @Test func `rebase refuses a step that others build on, the last step, and files elsewhere`() throws {
    let before = try FileManager.default.contentsOfDirectory(atPath: steps).sorted()
    let middle = try run("rebase", "0002_screen_name.migration")
    #expect(middle.status == 5 && middle.errors.contains("must keep its number"), "\(middle)")
    let last = try run("rebase", "0006_places.migration")
    #expect(last.status == 64 && last.errors.contains("no other step comes after it"), "\(last)")
    let elsewhere = try run("rebase", "/elsewhere/0006_places.migration")
    #expect(elsewhere.status == 64 && elsewhere.errors.contains("is not in"), "\(elsewhere)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: steps).sorted() == before)
  }

  @Test func `sql differs between the engines where the older one cannot drop a column`() throws {
    try write("0007_less", operations: "add attribute User.shoeSize int optional")
    try write("0008_less", operations: "drop attribute User.shoeSize", head: "allow: lossy:User.shoeSize\n")
    let old = try run("sql", "--engine", "3.15.2").output
    let new = try run("sql", "--engine", "3.46.1").output
    #expect(old.contains("INSERT INTO \"_mig_User\"") && !new.contains("_mig_User"), "\(old)\n\(new)")
    #expect(new.contains("DROP COLUMN"))
  }
}
