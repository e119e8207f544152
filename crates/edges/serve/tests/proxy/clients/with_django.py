"""What an application with Django does; prints what it saw in one line."""

import os

import django
from django.conf import settings

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
            "PASSWORD": os.environ["PGPASSWORD"],
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
            "DISABLE_SERVER_SIDE_CURSORS": os.environ["CURSORS"] == "of the client",
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()

from django.db import connection, models, transaction  # noqa: E402


class Account(models.Model):
    id = models.IntegerField(primary_key=True)
    owner = models.TextField()
    balance = models.IntegerField()

    class Meta:
        app_label = "bank"
        db_table = "accounts"


class Note(models.Model):
    """Made by Django itself, with a key that the database gives."""

    words = models.TextField()

    class Meta:
        app_label = "bank"
        db_table = "notes"


class Undone(Exception):
    pass


def main():
    said = []
    with connection.schema_editor() as editor:
        editor.create_model(Note)
    assert Note.objects.create(words="hello").pk is not None
    assert Note.objects.filter(words="hello").exists()
    Account.objects.create(id=10, owner="zoe", balance=7)
    with transaction.atomic():
        account = Account.objects.get(pk=1)
        said.append(account.balance)
        account.balance -= 5
        account.save()
    said.append(Account.objects.filter(owner="ann").update(balance=models.F("balance") + 1))
    with transaction.atomic():
        found = Account.objects.aggregate(n=models.Count("*"), sum=models.Sum("balance"))
        said += [found["n"], found["sum"]]
        said.append(",".join(str(it.id) for it in Account.objects.filter(balance__gt=95).order_by("id")))
    try:
        with transaction.atomic():
            Account.objects.get(pk=10).delete()
            raise Undone
    except Undone:
        pass
    said.append(Account.objects.filter(pk=10).first() is not None)
    with transaction.atomic():
        try:
            with transaction.atomic():
                Account.objects.create(id=11, owner="yan", balance=1)
                raise Undone
        except Undone:
            pass
        account = Account.objects.select_for_update().get(pk=10)
        account.balance = 8
        account.save(update_fields=["balance"])
    said.append(Account.objects.count())
    said.append(sum(it.balance for it in Account.objects.all().iterator()))
    print(*said)


main()
