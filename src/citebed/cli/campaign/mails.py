"""Set up a campaign and its mails: ``campaign new``, ``settings``, ``papers``, ``invite`` …"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.campaign.options import Database, Folder, open_folder
from citebed.cli.options import JsonOptions
from citebed.cli.output import print_json, say
from citebed.errors import CitebedError
from citebed.options import option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.judging import Campaign
    from citebed.judging.mails import Smtp

ALL_FORMS = "text,pdf,html,web"


@dataclass(frozen=True, kw_only=True)
class MailOptions:
    """How to write mails."""

    forms: str = option(
        ALL_FORMS, "Kinds of form in a mail, comma-separated: text, pdf, html, web."
    )
    outbox: Path | None = option(None, "Folder for the mails (default: CAMPAIGN/outbox).")
    send: bool = option(False, "Send all waiting mails through the campaign's SMTP server.")

    @property
    def kinds(self) -> list[str]:
        """The kinds of form."""
        return [kind.strip() for kind in self.forms.split(",") if kind.strip()]


@dataclass(frozen=True, kw_only=True)
class CampaignSettings:
    """The settings of a new campaign."""

    title: str = option("", "Name of the collection in mails.")
    organiser: str = option("", "Name that signs the mails.")
    contact: str = option("", "The organiser's mail address.")
    address: str = option("http://localhost:8000", "Public address of 'citebed serve'.")
    grades: int = option(
        4,
        "Number of grades in phase one (default 4; otherwise describe each with --grade).",
        min=2,
        max=9,
    )
    grade: tuple[str, ...] = option((), "Description of a grade, lowest grade first (repeatable).")
    relevant_from: int = option(2, "Lowest relevant grade.")


def new(
    folder: Folder,
    collection: Annotated[Path, typer.Option(help="The collection to be judged.")],
    papers: Annotated[
        Path, typer.Option(help="Source papers with authors and mail addresses: CSV or BibTeX.")
    ],
    options: CampaignSettings,
    database: Database = None,
) -> None:
    """Start a campaign from source papers and their authors.

    Example: citebed campaign new cr26 --collection mine/ --papers papers.csv --contact me@uni.org
    """
    from citebed.judging import new_campaign
    from citebed.judging.settings import FOUR_GRADES

    usual = FOUR_GRADES if options.grades == len(FOUR_GRADES) else ()
    if len(grades := options.grade or tuple(usual)) != options.grades:
        raise CitebedError(f"{options.grades} grades need {options.grades} times --grade, lowest "
                           f"grade first; found {len(grades)}.")  # fmt: skip
    chosen = {name: value for name, value in vars(options).items() if name != "grade"}
    chosen = {**chosen, "grades": grades}
    if not options.title:
        del chosen["title"]
    made = new_campaign(folder, collection, papers, database=database, **chosen)
    with made.reading() as tx:
        from citebed.judging.status import references_matched
        from citebed.report.campaign import campaign_counts

        typer.echo(campaign_counts(tx))
        inside, every = references_matched(tx)
        typer.echo(f"{inside} of {count(every, 'reference')} are in the collection")
    _note_where_links_lead(made)
    say(f"Its database is {printable(made.database.url)}. Next: citebed campaign invite "
        f"{printable(folder)}")  # fmt: skip


def _note_where_links_lead(opened: Campaign) -> None:
    from urllib.parse import urlsplit

    address = opened.settings.address
    if urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1"):
        say(f"note: the links in mails point to {printable(address)}, which only this machine can "
            "reach. Set a public address with: citebed campaign settings "
            f"{printable(opened.folder)} "
            "--address https://…")  # fmt: skip


def settings(
    folder: Folder,
    title: str | None = option(None, "Name of the collection in mails."),
    organiser: str | None = option(None, "Name that signs the mails."),
    contact: str | None = option(None, "The organiser's mail address."),
    address: str | None = option(None, "Public address of 'citebed serve'."),
    guidelines: Path | None = option(
        None, "Guidelines (text or Markdown) that assessors can open from their pages."
    ),
) -> None:
    """Show or change the campaign's settings. Mails already written do not change.

    Example: citebed campaign settings cr26 --address https://judging.example.org
    """
    opened = open_folder(folder)
    opened.configure(
        title=title,
        organiser=organiser,
        contact=contact,
        address=address,
        guidelines=guidelines,
    )
    for name in ("title", "organiser", "contact", "address"):
        typer.echo(f"{name}: {getattr(opened.settings, name)}")
    guide = opened.settings.guidelines
    typer.echo(f"guidelines: {count(len(guide.split()), 'word') if guide else 'none'}")


def papers(
    folder: Folder, file: Annotated[Path, typer.Argument(help="Source papers: CSV or BibTeX.")]
) -> None:
    """Add source papers. Papers that the campaign already has do not change.

    Example: citebed campaign papers cr26 more.csv
    """
    added = open_folder(folder).add_papers(file)
    typer.echo(f"added {count(added, 'paper')}")


def invite(
    folder: Folder,
    options: MailOptions,
    on: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Use this date instead of today; only papers published by then count.",
        ),
    ] = None,
) -> None:
    """Write invitations to everyone who has not been invited yet.

    Phase one goes to every author of a paper; phase two goes out once papers are pooled.

    Example: citebed campaign invite cr26 --forms text,pdf,html,web
    """
    opened = open_folder(folder)
    day = on.date() if on else None
    _report_mails(opened, opened.invite(options.kinds, options.outbox, on=day), options)


def remind(
    folder: Folder,
    options: MailOptions,
    after_days: int = option(7, "Minimum number of days since the last mail.", min=0),
) -> None:
    """Remind people who have not answered and have not opted out.

    Example: citebed campaign remind cr26 --after-days 10
    """
    opened = open_folder(folder)
    written = opened.remind(options.kinds, options.outbox, after_days=after_days)
    _report_mails(opened, written, options)


def _report_mails(opened: Campaign, written: list[Path], options: MailOptions) -> None:
    place = printable(options.outbox or opened.outbox)
    typer.echo(f"wrote {count(len(written), 'mail')} into {place}")
    if written:
        _note_where_links_lead(opened)
    if not options.send:
        return
    sent = opened.send(_smtp(opened.folder))
    typer.echo(f"sent {sent.sent}, failed {sent.failed}, will retry {sent.deferred}")
    if sent.unconfirmed:
        mails = count(len(sent.unconfirmed), "mail")
        say(f"note: {mails} may already have been sent before an interruption; citebed won't "
            f"resend them: {', '.join(sent.unconfirmed[:5])}")  # fmt: skip


def _smtp(folder: Path) -> Smtp:
    from citebed.judging.campaign import FILE, campaign_file
    from citebed.judging.mails import Smtp

    facts = campaign_file(folder).get("smtp")
    if not isinstance(facts, dict) or "host" not in facts:
        raise CitebedError(
            'no mail server is set up. Write [smtp] and host = "…" into '
            f"{printable(folder / FILE)}, or send the mails from the outbox."
        )
    try:
        return Smtp(**facts)
    except TypeError as error:
        raise CitebedError(f"[smtp] in {printable(folder / FILE)}: expected host, port, user, "
                           "starttls, per_minute.") from error  # fmt: skip


def returns(
    folder: Folder,
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders with returned forms.", metavar="PATH…")
    ],
    output: JsonOptions,
    again: bool = option(False, "Also read files that were imported before."),
    charset: str = option(
        "", "Read text in this charset instead of the declared one, e.g. koi8-r."
    ),
) -> int:
    """Import returned forms (text, PDF, HTML, mails).

    citebed lists what it cannot read, with the line, and never guesses a judgement; the exit code
    is then 1. If a text is not in the charset that it declares, citebed reads it in the charset in
    which the assessor's name and the form's own words appear, and lists it. A guess never replaces
    a stored wording.

    Example: citebed campaign returns cr26 inbox/
    """
    done = open_folder(folder).returns(paths, again=again, charset=charset)
    if output.as_json:
        rows = [
            {
                "file": printable(each.name),
                "outcome": each.outcome,
                "via": each.via,
                "questions": each.recorded.questions if each.recorded else 0,
                "judgements": each.recorded.judgements if each.recorded else 0,
                "unread": [{"line": line, "what": what} for line, what in each.unread],
            }
            for each in done
        ]
        print_json(rows)
    for each in done if not output.as_json else ():
        typer.echo(f"{printable(each.name)}: {each.summary()}")
        for line, what in each.unread:
            place = f"line {line}: " if line else ""
            typer.echo(f"  {place}{what}", err=True)
    return int(any(each.unread for each in done))


def organiser(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The name to log in with.")],
    remove: bool = option(False, "Remove this organiser."),
    database: Annotated[
        str | None, typer.Option(help="Database URL (overrides campaign.toml).", hidden=True)
    ] = None,
) -> None:
    """Add an organiser with a password, or change the password. citebed asks for it twice.

    Scripts can set the password in CITEBED_PASSWORD.

    Example: citebed campaign organiser cr26 ada
    """
    import os

    from citebed.judging.organisers import add_organiser, remove_organiser

    opened = open_folder(folder, database)
    if remove:
        remove_organiser(opened.database, name)
        typer.echo(f"{name} can no longer log in")
        return
    password = os.environ.get("CITEBED_PASSWORD") or typer.prompt(
        f"Password for {name}", hide_input=True, confirmation_prompt=True, err=True
    )
    add_organiser(opened.database, name, password)
    typer.echo(f"{name} can log in")


def organisers(folder: Folder) -> None:
    """List who can log in to the organisers' pages.

    Example: citebed campaign organisers cr26
    """
    from citebed.judging.organisers import organiser_names

    for name in organiser_names(open_folder(folder).database):
        typer.echo(name)
